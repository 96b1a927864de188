"""Validation runs in training mode: dropout is on, and batch statistics leak in from the validation set.

## What it sees
Whole evaluation passes whose forwards all ran in training mode, in a model where the mode makes a difference.

## Why it matters
With dropout on, the validation metrics are too pessimistic and wobble from pass to pass; with batch normalisation each
prediction depends on its neighbours, and the running statistics take in the validation set, which the next training
epoch then uses. Decisions taken on these numbers are taken on noise.

## How it decides
A pass is sure to be an evaluation when it is inside `with monitor.validation():` or a validation metric is logged after
it, and then one is enough. Otherwise forwards without gradients only look like one: at least `repeats` passes of
`forwards` or more, `apart` training steps apart, nearly all in training mode.

## When it is wrong
Passes that are meant to run so: Monte-Carlo dropout, recomputing batch statistics, a policy that plays between updates.

## What to try
1. `model.eval()` before the validation loop, `model.train()` after it.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"first_step": 50, "count": 2, "confirmed": 2, "passes": 2, "forwards_per_pass": 8, "steps_between": 50,
...          "mode_dependent": ["BatchNorm2d"], "keeps_statistics": True}
>>> print(*evaluating_in_train_mode.check(
...     a_run(loss=1.0, eval_mode=0.0, events=[Event(99, "validation_in_train_mode", seen)])))
LOP102 evaluating-in-train-mode: 2 of 2 evaluation passes ran in training mode, with BatchNorm2d active.

## References
- Ioffe and Szegedy (2015), Batch normalization: inference uses the population's statistics, not the batch's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import EVAL_MODE
from bedside.rules.base import rule
from bedside.wording import listed


@dataclass(frozen=True)
class Limits:
    sure: float = 0.5  # of the passes confirmed: one no-grad forward per step (a GAN's) may meet a logged metric
    repeats: int = 3  # unconfirmed passes: what comes three times at a distance is a habit of the loop
    forwards: int = 3  # forwards in an unconfirmed pass: a teacher or a generator takes one or two
    apart: int = 10  # steps between unconfirmed passes: what runs at every step is part of training
    share: float = 0.8  # of all passes in training mode: a warm-up pass in the right mode does not excuse the rest


@rule("LOP102", severity=Severity.WARNING, needs=[EVAL_MODE], limits=Limits())
def evaluating_in_train_mode(run: Run, limits: Limits) -> Iterator[Finding]:
    events = run.events_of("validation_in_train_mode")
    if not events:
        return
    data = events[-1].data
    affected = list(data.get("mode_dependent", []))
    sure = data["confirmed"] >= max(1, limits.sure * data["count"])
    looks_like_it = (
        data["count"] >= max(limits.repeats, limits.share * data["passes"])
        and data["forwards_per_pass"] >= limits.forwards
        and data["steps_between"] >= limits.apart
    )
    if not affected or not (sure or looks_like_it):
        return
    leaks = bool(data.get("keeps_statistics"))
    yield evaluating_in_train_mode.finding(
        f"{data['count']} of {data['passes']} evaluation passes ran in training mode, with {listed(affected)} active.",
        first_step=data["first_step"],
        last_step=events[-1].step,
        confidence=0.95 if sure else 0.6,
        evidence={
            "passes_in_train_mode": data["count"],
            "passes": data["passes"],
            "confirmed": data["confirmed"],
            "running_statistics_take_in_validation_data": leaks,
        },
        could_also_be=(
            "Passes that do not evaluate: recomputed batch statistics, Monte-Carlo dropout, playing a policy.",
        ),
        try_=("Call model.eval() before the validation loop and model.train() after it.",),
    )
