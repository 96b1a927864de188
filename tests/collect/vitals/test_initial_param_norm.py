"""How large the weights were before the first step."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn


def initial_norm(model, tmp_path, before_first_step=lambda: None):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        if step == 0:
            before_first_step()
        optimizer.zero_grad()
        model(torch.randn(5, 6)).square().mean().backward()
        optimizer.step()

    return watched(model, optimizer, tmp_path, body, steps=3).config["initial_param_norm"]


def test_it_is_that_of_all_weights_before_any_step(tmp_path):
    model = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 1))
    expected = sum(p.detach().double().square().sum() for p in model.parameters()).sqrt().item()
    assert initial_norm(model, tmp_path) == pytest.approx(expected, rel=1e-6)


def test_weights_that_are_loaded_after_watching_began_count(tmp_path):
    model = nn.Linear(6, 1)
    assert initial_norm(model, tmp_path, lambda: [nn.init.zeros_(p) for p in model.parameters()]) == 0.0
