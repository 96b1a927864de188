"""When normalised-inputs speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.normalised_inputs import normalised_inputs
from bedside.preflight.example_setup import examined, examples

X, _ = examples()


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 3)

    def forward(self, x):
        return self.layer((x - 128) / 64)


def test_speaks_when_one_column_is_in_thousands():
    x = X.clone()
    x[:, 3] *= 2000
    found = examined(normalised_inputs, x=x)
    assert isinstance(found, Finding)
    assert found.evidence["columns"] == [3]


def test_speaks_when_inputs_are_tiny():
    assert isinstance(examined(normalised_inputs, x=1e-5 * X), Finding)


def test_stays_silent_when_the_model_scales_its_input_itself():
    raw = 128 + 64 * X
    assert isinstance(examined(normalised_inputs, Scaled, x=raw), Passed)
    normed = nn.Sequential(nn.BatchNorm1d(8), nn.Linear(8, 3))
    assert not isinstance(examined(normalised_inputs, normed, x=raw), Finding)


def test_stays_silent_behind_a_frozen_layer():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 3))
    model[0].weight.data.mul_(1000)
    model[0].requires_grad_(False)
    assert isinstance(examined(normalised_inputs, model), Passed)


def test_tokens_are_not_examined():
    class Tokens(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.EmbeddingBag(300, 3)

        def forward(self, x):
            return self.table(x)

    assert isinstance(examined(normalised_inputs, Tokens, x=torch.randint(0, 300, (96, 5))), NotExamined)
