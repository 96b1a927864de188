"""Copies of the model that follow its weights and not its running averages."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.collect.watched import watched
from torch import nn

STEPS = 60


def seen(tmp_path, *, follow=True, buffers=False, itself=False, in_training=False):
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
    average = copy.deepcopy(model).train(in_training)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(16, 6)).pow(2).mean().backward()
        optimizer.step()
        with torch.no_grad():
            pairs = list(zip(average.parameters(), model.parameters(), strict=True)) if follow else []
            for mine, its in pairs:
                mine.lerp_(its, 0.1)
            for mine, its in zip(average.buffers(), model.buffers(), strict=True) if buffers else ():
                mine.copy_(its)
            if step % 10 == 9:
                evaluated = model.eval() if itself else average
                monitor.log(val_loss=evaluated(torch.randn(16, 6)).pow(2).mean().item())
                model.train()

    run = watched(model, optimizer, tmp_path, body, steps=STEPS)
    return [event.data for event in run.events_of("stale_copy")]


def test_an_average_that_leaves_out_the_buffers_is_found(tmp_path):
    [data] = seen(tmp_path)
    assert data["where"] == ["1"]
    assert 50 <= data["batches"] <= STEPS


@pytest.mark.parametrize(
    "case",
    [
        {"buffers": True},
        {"follow": False},  # the untrained model, kept for comparison
        {"itself": True},  # the average may be there for later
        {"in_training": True},  # batch statistics are used
    ],
)
def test_other_copies_are_not(tmp_path, case):
    assert not seen(tmp_path, **case)
