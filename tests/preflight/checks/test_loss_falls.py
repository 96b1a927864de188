"""When loss-falls speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch import nn

from bedside.finding import NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.loss_falls import loss_falls
from bedside.preflight.example_setup import a_model, examined, seeded


class WrongSign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class Backwards(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = seeded(a_model)

    def forward(self, x):
        return WrongSign.apply(self.inner(x))


def test_speaks_when_a_custom_backward_is_wrong():
    found = examined(loss_falls, Backwards)
    assert found.severity is Severity.ERROR
    assert "it is not the gradient of it" in found.message


def test_speaks_when_the_learning_rate_is_far_too_large():
    found = examined(loss_falls, optimizer=lambda model: torch.optim.Adam(model.parameters(), lr=10.0))
    assert found.severity is Severity.WARNING
    assert found.try_[0] == "Lower the learning rate to about 1, or warm up from there."


def test_stays_silent_with_dropout_and_usual_optimizers():
    model = lambda: nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Dropout(0.9), nn.Linear(64, 3))  # noqa: E731
    for make in (
        lambda m: torch.optim.SGD(m.parameters(), lr=0.1),
        lambda m: torch.optim.Adam(m.parameters(), lr=1e-2),
    ):
        assert isinstance(examined(loss_falls, model, optimizer=make), Passed)


def test_an_optimizer_with_a_closure_is_not_stepped():
    found = examined(loss_falls, optimizer=lambda model: torch.optim.LBFGS(model.parameters()))
    assert isinstance(found, Passed)
    assert found.numbers["after_own_step"] is None


def test_a_gradient_of_zero_is_not_examined():
    silent = lambda output, target: nn.functional.cross_entropy(0 * output, target)  # noqa: E731
    assert isinstance(examined(loss_falls, loss_fn=silent), NotExamined)
