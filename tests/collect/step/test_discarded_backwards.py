"""Backward passes whose gradients are cleared before anybody steps."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn


def counted(tmp_path, passes, attack=False, keep=False):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        optimizer.zero_grad()
        for _ in range(passes):
            if not keep:
                optimizer.zero_grad()
            batch = torch.randn(8, 4, requires_grad=attack)
            model(batch).square().mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=30)
    return run.series("discarded_backwards").values.tolist()


@pytest.mark.parametrize("passes", [2, 5])
def test_those_before_the_last_one_are_counted(passes, tmp_path):
    assert counted(tmp_path, passes) == [passes - 1] * 30


def test_accumulated_gradients_are_not_discarded(tmp_path):
    assert counted(tmp_path, 5, keep=True) == []


def test_gradients_that_were_wanted_for_the_inputs_are_not_missed(tmp_path):
    assert sum(counted(tmp_path, 5, attack=True)) == 0


def test_an_attack_that_leaves_its_gradients_to_the_next_clearing_is_not_missed(tmp_path):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def body(step, monitor):
        batch = torch.randn(8, 4)
        change = torch.zeros_like(batch, requires_grad=True)
        for _ in range(4):
            model(batch + change).square().mean().backward()
        optimizer.zero_grad()
        model(batch + change.detach()).square().mean().backward()
        optimizer.step()

    run = watched(model, optimizer, tmp_path, body, steps=30)
    assert len(run.series("discarded_backwards")) <= 2  # of the first steps, before it was noticed
