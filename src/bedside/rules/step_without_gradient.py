"""The optimizer steps, but no parameter has a gradient, so nothing is learnt.

## What it sees
Calls of `optimizer.step()` at which every parameter that it holds had `grad is None`.

## Why it matters
The step does nothing and says nothing. Typical: `zero_grad()` between `backward()` and `step()`, no `backward()` at
all, or an optimizer built for another model.

## How it decides
More than `share` of the steps that were watched closely, and at least `fewest` of them, were empty.

## When it is wrong
An optimizer for parts of a model that are used now and then, such as the experts of a mixture.

## What to try
1. The order is `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`.
2. Check that the loss depends on the model: `loss.grad_fn` must not be None, and `detach()`, `.data` and `.item()`
   must not stand between the model and the loss.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = Event(99, "empty_step", {"first_step": 0, "count": 100, "optimizer": "SGD"})
>>> print(*step_without_gradient.check(a_run(loss=2.3, events=[Event(0, "coverage"), seen])))
LOP104 step-without-gradient: 100 of 100 steps found no gradient at all: they changed nothing.

## References
- PyTorch documentation, Optimizer.step and Optimizer.zero_grad(set_to_none=True).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import count


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the steps: a part that is used now and then may miss a step, most of them it may not
    fewest: int = 3  # empty steps: one at the start is a known way to keep a scheduler from complaining


@rule("LOP104", severity=Severity.ERROR, needs=[], limits=Limits())
def step_without_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the optimizer's steps (a watched run)")
    events = run.events_of("empty_step")
    if not events:
        return
    data = events[-1].data
    watched = max((parameter.watched_steps for parameter in run.parameters), default=0)  # in between nobody counted
    empty, steps = data["count"], max(watched or run.steps, data["count"])
    if empty < limits.fewest or empty < limits.share * steps:
        return
    yield step_without_gradient.finding(
        f"{count(empty)} of {count(steps)} steps found no gradient at all: they changed nothing.",
        first_step=data["first_step"],
        last_step=events[-1].step,
        confidence=0.98,
        evidence={"empty_steps": empty, "steps": steps},
        could_also_be=("An optimizer for parts that are rarely used: it steps without them in between.",),
        try_=(
            "Put the three lines in this order: optimizer.zero_grad(), loss.backward(), optimizer.step().",
            "Check that loss.grad_fn is not None: detach(), .data or .item() cuts the loss off from the model.",
        ),
    )
