"""Adam's epsilon beside the root of the second moment."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn


def recorded(tmp_path, make, scale=1.0):
    model = nn.Linear(8, 4)
    optimizer = make(model.parameters())
    roots = []

    def body(step, monitor):
        optimizer.zero_grad()
        (scale * model(torch.randn(16, 8)).pow(2).mean()).backward()
        optimizer.step()
        state = [optimizer.state[p] for p in model.parameters()]
        if "exp_avg_sq" in state[0]:
            correction = 1 - 0.999 ** (step + 1)
            roots.append(torch.cat([(s["exp_avg_sq"] / correction).sqrt().flatten() for s in state]).median().item())

    run = watched(model, optimizer, tmp_path, body, steps=20)
    return roots, [(event.step, event.data) for event in run.events_of("optimizer_epsilon")]


def test_an_epsilon_above_the_gradients_is_told_with_their_size(tmp_path):
    roots, events = recorded(tmp_path, lambda p: torch.optim.Adam(p, lr=1e-3, eps=1.0), scale=1e-3)
    assert len(events) == 5
    step, data = events[0]
    assert (data["optimizer"], data["eps"]) == ("Adam", 1.0)
    assert data["root"] == pytest.approx(roots[step], rel=1e-4)


@pytest.mark.parametrize("make", [torch.optim.Adam, lambda p: torch.optim.SGD(p, lr=0.1)], ids=["Adam", "SGD"])
def test_the_usual_epsilon_and_optimizers_without_one_are_not_told(make, tmp_path):
    assert not recorded(tmp_path, make)[1]
