"""When schedule-fits-run speaks and when it stays silent."""

from __future__ import annotations

import pytest
import torch
from torch.optim.lr_scheduler import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    OneCycleLR,
    ReduceLROnPlateau,
    StepLR,
)

from bedside.finding import Finding, NotExamined
from bedside.preflight.check import Passed
from bedside.preflight.checks.schedule_fits_run import schedule_fits_run
from bedside.preflight.example_setup import a_model, examined, seeded


def look(make, steps=600):
    model = seeded(a_model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    return examined(schedule_fits_run, model, optimizer=lambda _: optimizer, scheduler=make(optimizer), steps=steps)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda o: CosineAnnealingLR(o, 60), "The schedule is 60 steps long, the run 600."),
        (
            lambda o: CosineAnnealingLR(o, 20_000),
            "The schedule is 20,000 steps long, the run 600: it never comes down.",
        ),
        (lambda o: OneCycleLR(o, 0.1, total_steps=50), "The schedule ends at step 50 of 600, and raises there."),
        (lambda o: LambdaLR(o, lambda step: step / 5000), "The warm-up takes > 99 % of the run of 600 steps."),
    ],
)
def test_speaks_when_the_schedule_is_of_another_length(make, said):
    found = look(make)
    assert isinstance(found, Finding)
    assert found.message == said


@pytest.mark.parametrize(
    "make",
    [
        lambda o: CosineAnnealingLR(o, 600),
        lambda o: CosineAnnealingLR(o, 100),  # stepped per epoch: 100 epochs of six batches
        lambda o: OneCycleLR(o, 0.1, total_steps=600),
        lambda o: ExponentialLR(o, 0.95),
        lambda o: StepLR(o, 30),
        lambda o: CosineAnnealingWarmRestarts(o, 50),
        lambda o: LambdaLR(o, lambda step: min(1.0, (step + 1) / 60)),
    ],
)
def test_stays_silent_when_it_fits_in_steps_or_in_epochs(make):
    found = look(make)
    assert isinstance(found, Passed), found
    assert set(found.numbers["drawn"]) <= set("▁▂▃▄▅▆▇█")


def test_a_schedule_that_waits_for_a_metric_is_not_examined():
    assert isinstance(look(ReduceLROnPlateau), NotExamined)


def test_the_scheduler_is_put_back():
    model = seeded(a_model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = CosineAnnealingLR(optimizer, 600)
    examined(schedule_fits_run, model, optimizer=lambda _: optimizer, scheduler=scheduler, steps=600)
    assert (scheduler.last_epoch, optimizer.param_groups[0]["lr"]) == (0, 0.1)
