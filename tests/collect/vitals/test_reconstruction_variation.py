"""How much reconstructions vary, beside the samples."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


@pytest.mark.parametrize("logits", [True, False])
@pytest.mark.parametrize("shape", [(12,), (1, 4, 3)])
def test_the_ratio_of_spreads_is_the_obvious_one(shape, logits, tmp_path):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Flatten(), nn.Linear(12, 3), nn.Linear(3, 12), nn.Unflatten(1, shape))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    truth = []

    def body(step, monitor):
        x = torch.rand(16, *shape)
        out = model(x)
        made = out.detach().sigmoid() if logits else out.detach()
        spread = [np.asarray(each.reshape(16, -1)).var(axis=0, ddof=1).mean() for each in (made, x)]
        truth.append((spread[0] / spread[1]) ** 0.5)
        optimizer.zero_grad()
        (F.binary_cross_entropy_with_logits(out, x) if logits else F.mse_loss(out, x)).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=15)
    np.testing.assert_allclose(run.series("reconstruction_variation").values, truth, rtol=1e-4)


def test_other_targets_are_no_reconstruction(tmp_path):
    model = nn.Linear(6, 6)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def body(step, monitor):
        optimizer.zero_grad()
        x = torch.randn(16, 6)
        F.mse_loss(model(x), x + 0.1).backward()
        optimizer.step()

    assert not len(watched(model, optimizer, tmp_path, body, steps=10).series("reconstruction_variation"))
