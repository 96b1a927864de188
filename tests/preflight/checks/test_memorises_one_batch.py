"""When memorises-one-batch speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.memorises_one_batch import memorises_one_batch
from bedside.preflight.example_setup import examined


def test_speaks_when_the_output_cannot_reach_the_targets():
    model = nn.Sequential(nn.Linear(8, 1), nn.Sigmoid())
    found = examined(memorises_one_batch, model, y=20 + torch.randn(96, 1), loss_fn=nn.MSELoss())
    assert isinstance(found, Finding)


def test_stays_silent_when_the_batch_is_learned():
    found = examined(memorises_one_batch)
    assert isinstance(found, Passed)
    assert found.numbers["left"] < 0.1


def test_stays_silent_when_the_loss_has_a_floor_of_its_own():
    smoothed = nn.CrossEntropyLoss(label_smoothing=0.2)
    assert isinstance(examined(memorises_one_batch, loss_fn=smoothed), Passed)


def test_a_random_loss_and_one_without_an_end_are_not_examined():
    noisy = lambda output, target: F.cross_entropy(output + torch.randn_like(output), target)  # noqa: E731
    assert examined(memorises_one_batch, loss_fn=noisy).needs == ("a loss that draws no random numbers of its own",)
    unbounded = lambda output, target: -output.mean()  # noqa: E731
    assert isinstance(examined(memorises_one_batch, loss_fn=unbounded), NotExamined)
