"""Gradients of several micro-batches are added up, but not divided by their number.

## What it sees
Several forward and backward passes before each step, with losses that were not divided by how many there are.

## Why it matters
The gradient is the sum over the micro-batches, so it grows with their number: four of them act like a learning rate
four times as large. Change the number and the run changes with it. Optimizers that divide the gradient's size out
again (Adam and its kin) hardly notice, so there it is a note.

## How it decides
The last operations of the loss's graph show no division by the number of micro-batches, and each backward had a forward
of its own: two losses of one forward are not accumulation.

## When it is wrong
A loss that is a sum over samples divided by the size of the whole batch: that needs no second division.

## What to try
1. `(loss / number_of_micro_batches).backward()`.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> run = a_run(loss=1.0, micro_batches=4.0, training_forwards=4.0, config={"optimizers": [{"name": "SGD"}]},
...             events=[Event(99, "accumulation", {"divided": False})])
>>> print(*unscaled_accumulation.check(run))
LOP107 unscaled-accumulation: Gradients of 4 micro-batches are added, not averaged: the steps are 4 times as large.

## References
- huggingface/transformers#34191: what a wrong normalisation of accumulated losses does to a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.optimizers import is_scale_free
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM, MICRO_BATCHES, TRAINING_FORWARDS
from bedside.rules.advice import LEARNING_RATE, learning_rate
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    fewest: int = 2  # micro-batches: with one there is nothing to divide by
    steps: int = 10  # readings: the way of the loop, not of its first steps


@rule("LOP107", severity=Severity.WARNING, needs=[MICRO_BATCHES, TRAINING_FORWARDS], limits=Limits())
def unscaled_accumulation(run: Run, limits: Limits) -> Iterator[Finding]:
    known = run.events_of("accumulation")
    batches = run.series(MICRO_BATCHES.name)
    if len(batches) < limits.steps:
        raise NotEnough(f"{limits.steps} readings of {MICRO_BATCHES.name}, has {len(batches)}")
    usual = batches.median()
    if not known or known[-1].data.get("divided") is not False or not usual >= limits.fewest:
        return
    if run.series(TRAINING_FORWARDS.name).median() < usual:
        return  # several losses of one forward
    rate = learning_rate(run, batches.first_step, batches.last_step)
    amount = number(usual)
    instead = f", or lower the learning rate from {number(rate)} to {number(rate / usual)}" if rate > 0 else ""
    yield unscaled_accumulation.finding(
        f"Gradients of {amount} micro-batches are added, not averaged: the steps are {amount} times as large.",
        severity=Severity.NOTE if is_scale_free(run) else None,
        first_step=batches.first_step,
        last_step=batches.last_step,
        confidence=0.7,
        evidence={"micro_batches": usual},
        series=[MICRO_BATCHES.name, GRAD_NORM.name],
        could_also_be=(
            "Losses that are already divided by the size of the whole step: then nothing is wrong, and "
            'monitor.combine_losses("sum") says so.',
        ),
        try_=(
            Advice(f"Divide each loss: (loss / {amount}).backward(){instead}.", LEARNING_RATE, -1 if instead else 0),
        ),
    )
