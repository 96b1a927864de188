"""When beats-blind-guess speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.beats_blind_guess import beats_blind_guess
from bedside.preflight.example_setup import examined, examples


def wide():
    return nn.Sequential(nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 3))


def test_speaks_when_targets_of_a_regression_were_shuffled():
    x, _ = examples(384)
    y = torch.randn(384, 1, generator=torch.Generator().manual_seed(0))

    def model():
        return nn.Sequential(nn.Linear(8, 512), nn.ReLU(), nn.Linear(512, 1))

    found = examined(beats_blind_guess, model, x=x, y=y, loss_fn=nn.MSELoss(), depth="full")
    assert isinstance(found, Finding)


def test_stays_silent_when_there_is_something_to_learn():
    x, y = examples(384)
    found = examined(beats_blind_guess, wide, x=x, y=y, depth="full")
    assert isinstance(found, Passed)
    assert found.numbers["others"] < found.numbers["guess"]


def test_too_few_examples_are_not_examined():
    assert isinstance(examined(beats_blind_guess, depth="full"), NotExamined)
