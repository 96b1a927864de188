"""Two optimizers that hold the same tensors."""

from __future__ import annotations

import torch
from tests.collect.watched import watched
from torch import nn


def recorded(tmp_path, second):
    model = nn.ModuleDict({"gen": nn.Linear(3, 3), "dis": nn.Linear(3, 1)})
    one = torch.optim.SGD(model["dis"].parameters(), lr=0.1)
    two = torch.optim.SGD(model[second].parameters(), lr=0.1)

    def body(step, monitor):
        model["dis"](model["gen"](torch.randn(4, 3))).mean().backward()
        one.step()
        two.step()

    run = watched(model, [one, two], tmp_path, body, steps=3)
    return [event.data for event in run.events_of("shared_parameters")]


def test_the_same_parameters_in_two_optimizers_are_told(tmp_path):
    assert recorded(tmp_path, "dis") == [{"tensors": 2, "optimizers": [0, 1], "all": True}]


def test_optimizers_of_their_own_are_not(tmp_path):
    assert not recorded(tmp_path, "gen")
