"""Validation builds the graph for a backward pass that never comes.

## What it sees
Evaluation passes whose forwards all ran with gradients enabled.

## Why it matters
Every activation is kept until the batch is done, so validation takes several times the memory it needs and a third
more time, and it may be what runs out of memory. The numbers are right.

## How it decides
A forward with gradients and no backward belongs to an evaluation when it is inside `with monitor.validation():`, when a
validation metric is logged after it, or when it ran in evaluation mode while training does not. At least `repeats`
passes. Where only the mode says that it was an evaluation, it is a note. A model whose output is a derivative needs the
graph, and is left alone.

## When it is wrong
Gradients with respect to the input are wanted during validation (saliency, physics-informed losses).

## What to try
1. `with torch.no_grad():` around the validation loop, or `@torch.inference_mode()` on its function.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"first_step": 50, "count": 2, "confirmed": 2, "passes": 2}
>>> print(*evaluating_with_gradients.check(
...     a_run(loss=1.0, eval_mode=0.0, events=[Event(99, "validation_with_gradients", seen)])))
LOP103 evaluating-with-gradients: 2 of 2 evaluation passes kept a graph that nobody used.

## References
- PyTorch documentation, Autograd mechanics: locally disabling gradient computation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import EVAL_MODE
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    repeats: int = 2  # passes: one may have been a look at a single batch


@rule("LOP103", severity=Severity.WARNING, needs=[EVAL_MODE], limits=Limits())
def evaluating_with_gradients(run: Run, limits: Limits) -> Iterator[Finding]:
    events = run.events_of("validation_with_gradients")
    if not events or events[-1].data["count"] < limits.repeats:
        return
    data = events[-1].data
    yield evaluating_with_gradients.finding(
        f"{data['count']} of {data['passes']} evaluation passes kept a graph that nobody used.",
        first_step=data["first_step"],
        last_step=events[-1].step,
        confidence=0.95 if data["confirmed"] else 0.8,
        evidence={"passes_with_gradients": data["count"], "passes": data["passes"]},
        severity=None if data["confirmed"] >= limits.repeats else Severity.NOTE,
        try_=("Put the validation loop inside `with torch.no_grad():`.",),
    )
