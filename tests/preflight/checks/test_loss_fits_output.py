"""When loss-fits-output speaks and when it stays silent."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.loss_fits_output import loss_fits_output
from bedside.preflight.example_setup import examined

BINARY = {"y": torch.rand(96, 1).round()}


@pytest.mark.parametrize(
    ("last", "outputs", "loss", "said"),
    [
        (nn.Softmax(1), 3, nn.CrossEntropyLoss(), "cross_entropy takes scores and is given the output of a softmax"),
        (nn.ReLU(), 3, nn.CrossEntropyLoss(), "given the output of a ReLU"),
        (nn.Identity(), 3, nn.NLLLoss(), "nll_loss takes logarithms of probabilities"),
        (nn.Sigmoid(), 1, nn.BCEWithLogitsLoss(), "given the output of a sigmoid"),
        (nn.Identity(), 1, nn.BCELoss(), "binary_cross_entropy takes probabilities"),
    ],
)
def test_speaks_when_the_loss_is_given_something_else(last, outputs, loss, said):
    others = BINARY if outputs == 1 else {}
    found = examined(loss_fits_output, nn.Sequential(nn.Linear(8, outputs), last), loss_fn=loss, **others)
    assert isinstance(found, Finding)
    assert said in found.message


@pytest.mark.parametrize(
    ("last", "outputs", "loss"),
    [
        (nn.Identity(), 3, nn.CrossEntropyLoss()),
        (nn.LogSoftmax(1), 3, nn.NLLLoss()),
        (nn.Sigmoid(), 1, nn.BCELoss()),
        (nn.Identity(), 1, nn.BCEWithLogitsLoss()),
    ],
)
def test_stays_silent_when_it_is_given_what_it_takes(last, outputs, loss):
    others = BINARY if outputs == 1 else {}
    model = nn.Sequential(nn.Linear(8, outputs), last)
    assert isinstance(examined(loss_fits_output, model, loss_fn=loss, **others), Passed)


def test_a_loss_of_ones_own_is_not_examined():
    own = lambda output, target: -F.log_softmax(output, 1)[torch.arange(len(target)), target].mean()  # noqa: E731
    assert isinstance(examined(loss_fits_output, loss_fn=own), NotExamined)
