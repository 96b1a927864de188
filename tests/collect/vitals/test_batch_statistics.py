"""How far BatchNorm's running averages have come when an evaluation uses them."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn

STEPS = 60


def seen(tmp_path, momentum, *, loaded=False, evaluate=True):
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8, momentum=momentum), nn.ReLU(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    if loaded:
        model(torch.randn(16, 6))

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(16, 6)).pow(2).mean().backward()
        optimizer.step()
        if evaluate:
            model.eval()
            with torch.no_grad():
                model(torch.randn(16, 6))
            model.train()

    run = watched(model, optimizer, tmp_path, body, steps=STEPS)
    return [event.data for event in run.events_of("batch_statistics")][-1:], model


def test_the_share_is_that_of_a_constant_input_run_through_the_formula(tmp_path):
    [data], model = seen(tmp_path, 1e-3)
    average = 1.0  # the initial variance, drawn towards 0 by as many batches of variance 0
    for _ in range(data["batches"]):
        average = (1 - 1e-3) * average
    assert data["initial_share"] == pytest.approx(average)
    assert data["where"] == ["1"]
    assert 30 < data["batches"] <= model[1].num_batches_tracked.item()


def test_a_cumulative_average_has_nothing_left_of_its_beginning(tmp_path):
    [data], _ = seen(tmp_path, None)
    assert data["initial_share"] == 0.0


def test_averages_that_were_loaded_are_not_fresh(tmp_path):
    assert not seen(tmp_path, 1e-3, loaded=True)[0]


def test_without_an_evaluation_nobody_uses_them(tmp_path):
    assert not seen(tmp_path, 1e-3, evaluate=False)[0]
