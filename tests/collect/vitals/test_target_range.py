"""Whether the output can reach the targets."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def looks(last, loss, tmp_path, *, low=20.0, high=100.0):
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1), last)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        x, y = torch.randn(16, 3), torch.rand(16) * (high - low) + low
        optimizer.zero_grad()
        loss(model(x).squeeze(1), y).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=8)
    return [event.data for event in run.events_of("target_range")]


@pytest.mark.parametrize(
    "loss",
    [F.mse_loss, F.l1_loss, lambda p, y: ((p - y) ** 2).mean(), lambda p, y: 0.5 * (y - p).abs().sum() / len(y)],
    ids=["mse_loss", "l1_loss", "squared by hand", "absolute by hand, the other way round"],
)
def test_targets_beyond_a_sigmoid_are_seen_however_the_loss_is_written(loss, tmp_path):
    seen = looks(nn.Sigmoid(), loss, tmp_path)
    assert len(seen) == 5
    for each in seen:
        assert (each["made_by"], each["low"], each["high"], each["outside"]) == ("sigmoid", 0.0, 1.0, 1.0)
        assert 20 <= each["least"] <= each["most"] <= 100


def test_targets_within_the_range_are_counted_as_such(tmp_path):
    assert {each["outside"] for each in looks(nn.Tanh(), F.mse_loss, tmp_path, low=-1.0, high=1.0)} == {0.0}


def test_half_of_the_targets_may_be_below_a_relu(tmp_path):
    seen = looks(nn.ReLU(), F.mse_loss, tmp_path, low=-5.0, high=5.0)
    assert all(each["high"] is None and 0.1 < each["outside"] < 0.9 for each in seen)


def test_a_linear_output_has_no_range(tmp_path):
    assert not looks(nn.Identity(), F.mse_loss, tmp_path)
    assert not looks(nn.Identity(), lambda p, y: ((p - y) ** 2).mean(), tmp_path / "by hand")


def test_a_sigmoid_that_is_stretched_afterwards_has_another_range(tmp_path):
    class Stretched(nn.Module):
        def forward(self, x):
            return 100 * torch.sigmoid(x)

    assert not looks(Stretched(), F.mse_loss, tmp_path)
