"""What schedulers were built for, and the order in which they are stepped."""

from __future__ import annotations

import math

import pytest
import torch
from tests.collect.watched import watched
from torch import nn
from torch.optim import lr_scheduler as lrs
from transformers import get_cosine_schedule_with_warmup, get_linear_schedule_with_warmup

import bedside
from bedside.collect.vitals.schedulers import describe


def closure(optimizer, warmup_steps=10, total_steps=100):
    def factor(step):
        return step / warmup_steps if step < warmup_steps else math.cos(step / total_steps)

    return lrs.LambdaLR(optimizer, factor)


def warm_then_cosine(optimizer):
    parts = [lrs.LinearLR(optimizer, 0.1, total_iters=5), lrs.CosineAnnealingLR(optimizer, 95)]
    return lrs.SequentialLR(optimizer, parts, [5])


@pytest.mark.parametrize(
    ("make", "name", "total", "warmup"),
    [
        (lambda o: lrs.CosineAnnealingLR(o, 80), "CosineAnnealingLR", 80, None),
        (lambda o: lrs.OneCycleLR(o, 0.1, total_steps=70), "OneCycleLR", 70, None),
        (lambda o: lrs.StepLR(o, 30), "StepLR", None, None),
        (lambda o: get_linear_schedule_with_warmup(o, 10, 200), "LambdaLR", 200, 10),
        (lambda o: get_cosine_schedule_with_warmup(o, 10, 300), "LambdaLR", 300, 10),
        (closure, "LambdaLR", 100, 10),
        (warm_then_cosine, "SequentialLR", 100, 5),
    ],
)
def test_total_and_warm_up_are_read_from_common_schedulers(make, name, total, warmup):
    facts = describe(make(torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)))
    assert (facts["name"], facts.get("total"), facts.get("warmup")) == (name, total, warmup)


def loop(tmp_path, make, *, first, per_step=1, steps=4):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = make(optimizer)

    def schedule():
        for _ in range(per_step):
            scheduler.step()

    def body(step, monitor):
        if first:
            schedule()
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
        if not first:
            schedule()

    return watched(model, optimizer, tmp_path, body, steps)


@pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step")
def test_a_scheduler_stepped_before_the_optimizer_is_heard(tmp_path):
    run = loop(tmp_path, lambda o: lrs.StepLR(o, 10), first=True)
    assert [e.data["scheduler"] for e in run.events_of("scheduler_before_optimizer")] == ["StepLR"]


@pytest.mark.parametrize("make", [lambda o: lrs.StepLR(o, 10), warm_then_cosine, closure])
def test_the_right_order_is_silent_and_steps_are_counted(make, tmp_path):
    run = loop(tmp_path, make, first=False, steps=7)
    assert not run.events_of("scheduler_before_optimizer")
    [facts] = run.config["schedulers"]
    assert (facts["stepped"], facts["optimizer_steps"]) == (7, 7)


def test_a_scheduler_that_is_never_stepped_is_known_to_be_there(tmp_path):
    run = loop(tmp_path, lambda o: lrs.StepLR(o, 10), first=False, per_step=0)
    assert run.config["scheduler_attached"] is True
    assert "schedulers" not in run.config


def test_a_scheduler_of_another_optimizer_with_the_same_weights_is_told_as_that(tmp_path):
    model, stranger = nn.Linear(4, 2), nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    twin, foreign = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, stranger))
    schedulers = [lrs.CosineAnnealingLR(each, 50) for each in (twin, foreign)]

    def body(step, monitor):
        optimizer.zero_grad()
        model(torch.randn(3, 4)).square().mean().backward()
        optimizer.step()
        for each in schedulers:
            each.step()

    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step"):
        run = watched(model, optimizer, tmp_path, body, 6)
    [facts] = run.config["schedulers"]  # that of a model which is not watched is nobody's business
    assert facts["drives_another_optimizer"] is True
    assert facts["stepped"] == 6


def test_a_scheduler_that_is_made_anew_counts_from_there(tmp_path):
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with bedside.watch(model, optimizer, run_dir=tmp_path / "run", quiet=True) as monitor:
        for steps in (120, 30):
            scheduler = lrs.CosineAnnealingLR(optimizer, 150)
            for _ in range(steps):
                optimizer.zero_grad()
                model(torch.randn(8, 4)).square().mean().backward()
                optimizer.step()
                scheduler.step()
    first, second = bedside.load(monitor.run_dir).config["schedulers"]
    assert (first["stepped"], first["begins"], first["optimizer_steps"]) == (120, 0, 120)
    assert (second["stepped"], second["begins"], second["optimizer_steps"]) == (30, 120, 30)
