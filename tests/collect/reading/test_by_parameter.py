"""Norms of single parameter tensors, where they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.collect.models import CASES
from tests.collect.slow_reference import norm
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F

VITALS = ("grad_norm_by_parameter", "param_norm_by_parameter", "update_norm_by_parameter")


def train(tmp_path, **options):
    torch.manual_seed(0)
    model = CASES["lstm"].model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    truth = []

    def body(step, monitor):
        inputs, targets = CASES["lstm"].batch()
        optimizer.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        before = {name: (norm([p.grad]), p.detach().clone()) for name, p in model.named_parameters()}
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        truth.append(
            {
                name: (before[name][0], norm([p]), norm([p.detach().double() - before[name][1].double()]))
                for name, p in model.named_parameters()
            }
        )

    return watched(model, optimizer, tmp_path, body, 8, **options), truth


@pytest.mark.parametrize("options", [{"by_parameter": True}, {"vitals": list(VITALS)}])
def test_every_parameter_has_its_own_norms(options, tmp_path):
    run, truth = train(tmp_path, **options)
    for name in truth[0]:
        for place, vital in enumerate(VITALS):
            expected = [step[name][place] for step in truth]
            np.testing.assert_allclose(run.series(vital, name).values, expected, rtol=1e-4, err_msg=f"{vital} {name}")


def test_they_are_not_recorded_unless_asked_for(tmp_path):
    run, _ = train(tmp_path)
    assert not [key for key in run.series_keys if key[0] in VITALS]
