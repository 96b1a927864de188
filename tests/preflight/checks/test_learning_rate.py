"""When learning-rate speaks and when it stays silent."""

from __future__ import annotations

import torch
from torch.optim.lr_scheduler import LambdaLR, StepLR

from bedside.finding import Finding
from bedside.preflight.check import Passed
from bedside.preflight.checks.learning_rate import learning_rate
from bedside.preflight.example_setup import a_model, examined, seeded


def test_speaks_when_the_scheduler_is_of_another_optimizer():
    model = seeded(a_model)
    old, new = (torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(2))
    found = examined(learning_rate, model, optimizer=lambda _: new, scheduler=StepLR(old, 10))
    assert isinstance(found, Finding)
    assert "was made for another optimizer" in found.message


def test_stays_silent_when_a_warm_up_begins_at_zero():
    model = seeded(a_model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    warmup = LambdaLR(optimizer, lambda step: min(1.0, step / 50))
    found = examined(learning_rate, model, optimizer=lambda _: optimizer, scheduler=warmup)
    assert isinstance(found, Passed)
    assert found.message == "0 at the first step, 0.1 after 100 steps of the schedule"


def test_stays_silent_about_a_frozen_group_without_a_rate():
    model = seeded(a_model)
    model[0].requires_grad_(False)
    groups = [{"params": model[0].parameters(), "lr": 0.0}, {"params": model[2].parameters()}]
    assert isinstance(examined(learning_rate, model, optimizer=lambda _: torch.optim.SGD(groups, lr=0.1)), Passed)
