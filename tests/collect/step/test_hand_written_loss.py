"""Losses that were written out are known for what they are."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def variance(tmp_path, loss, squeeze=False):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    torch.manual_seed(0)
    kept = []

    def body(step, monitor):
        x = torch.randn(40, 4)
        y = 3 * x[:, :1] + 5
        kept.append(y)
        optimizer.zero_grad()
        out = model(x)
        loss(out.squeeze(1) if squeeze else out, y.squeeze(1) if squeeze else y).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=30)
    return run.config.get("target_variance"), torch.cat(kept).var(correction=0).item()


@pytest.mark.parametrize("squeeze", [False, True])
@pytest.mark.parametrize(
    "loss",
    [lambda a, b: ((a - b) ** 2).mean(), lambda a, b: (b - a).pow(2).mean(), lambda a, b: torch.mean((a - b) ** 2)],
)
def test_squares_that_are_written_out_tell_their_targets(tmp_path, loss, squeeze):
    told, true = variance(tmp_path, loss, squeeze)
    assert told == pytest.approx(true, rel=0.05)


@pytest.mark.parametrize(
    "loss",
    [
        lambda a, b: ((a - b) ** 4).mean(),
        lambda a, b: ((a - b) ** 2).sum(),
        lambda a, b: ((2 * a - b) ** 2).mean(),
        lambda a, b: ((a - b) ** 2).mean() + a.abs().mean(),
    ],
)
def test_what_is_no_plain_mean_of_squares_is_let_be(tmp_path, loss):
    assert variance(tmp_path, loss)[0] is None


def test_a_call_of_torchs_own_is_not_told_twice(tmp_path):
    told, true = variance(tmp_path, F.mse_loss)
    assert told == pytest.approx(true, rel=0.05)
