"""Layers that begin with one number for all their weights."""

from __future__ import annotations

import pytest
import torch
from tests.collect.watched import watched
from torch import nn

from bedside.collect.reading import device_queue as queue


def seen(prepare, tmp_path):
    model = nn.Sequential(nn.Conv1d(1, 4, 3), nn.BatchNorm1d(4), nn.Flatten(), nn.Linear(24, 6), nn.Linear(6, 1))
    prepare(model)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(5, 1, 8)).square().mean().backward()
        optimizer.step()

    return [event.data["layers"] for event in watched(model, optimizer, tmp_path, body).events_of("constant_weights")]


def fill(number, *layers):
    def prepare(model):
        for layer in layers:
            nn.init.constant_(model[layer].weight, number)

    return prepare


@pytest.mark.parametrize("on_cpu", [True, False])
def test_layers_of_one_number_are_named_with_it(on_cpu, tmp_path, monkeypatch):
    if not on_cpu:
        monkeypatch.setattr(queue, "on_cpu", lambda tensor: False)
    assert seen(fill(0.25, 0, 3), tmp_path) == [{"0": 0.25, "3": 0.25}]


def frozen(model):
    fill(0.25, 0, 3)(model)
    model[0].requires_grad_(False)
    model[3].requires_grad_(False)


def test_layers_that_all_start_at_zero_are_named_where_one_feeds_another(tmp_path):
    assert seen(fill(0.0, 0, 3, 4), tmp_path) == [{"0": 0.0, "3": 0.0, "4": 0.0}]


def test_heads_beside_each_other_may_all_start_at_zero(tmp_path):
    class Heads(nn.Module):
        def __init__(self):
            super().__init__()
            self.kind, self.size = nn.Linear(12, 4), nn.Linear(12, 6)
            nn.init.zeros_(self.kind.weight)
            nn.init.zeros_(self.size.weight)

        def forward(self, x):
            return torch.cat([self.kind(x), self.size(x)], 1)

    model = Heads()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def body(step, monitor):
        optimizer.zero_grad()
        (model(torch.randn(5, 12)) - 1).square().mean().backward()
        optimizer.step()

    assert not watched(model, optimizer, tmp_path, body).events_of("constant_weights")


@pytest.mark.parametrize(
    "prepare",
    [fill(0.25), fill(0.0, 0, 3), fill(1.0, 1), fill(0.5, 4), frozen],
    ids=["random", "zeros", "a scale", "a single unit", "frozen"],
)
def test_other_beginnings_are_not_worth_a_word(prepare, tmp_path):
    assert seen(prepare, tmp_path) == []
