"""Whether the target of a regression is among the inputs."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn
from torch.nn import functional as F


def recorded(tmp_path, leak, steps=14, levels=None):
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        x = torch.randn(32, 6)
        y = x[:, 0] + torch.randn(32)
        y = y if levels is None else torch.randint(levels, (32,)).float()
        x[:, 4] = leak(x[:, 4], y)
        optimizer.zero_grad()
        F.mse_loss(model(x).squeeze(1), y).backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=steps)
    return [event.data for event in run.events_of("target_in_input")]


def test_a_column_that_is_a_function_of_the_target_is_named(tmp_path):
    assert recorded(tmp_path, lambda x, y: y.exp()) == [{"columns": 1, "first": 4, "of": 6, "examples": 256}]
    assert recorded(tmp_path / "falls", lambda x, y: 3 - y)


def test_a_good_feature_is_no_leak(tmp_path):
    assert not recorded(tmp_path, lambda x, y: y + 0.01 * x)


def test_a_target_of_few_levels_proves_nothing(tmp_path):
    assert not recorded(tmp_path, lambda x, y: y, levels=3)
