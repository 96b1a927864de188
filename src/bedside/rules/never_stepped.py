"""Gradients are computed again and again, and the optimizer that should use them does not step.

## What it sees
Many backward passes since the last step of the watched optimizer, or since the beginning if it never stepped. Or, at
every step, many whose gradients were cleared before it.

## Why it matters
Without a step the weights stay as they are: the loss wanders with the batches and nothing is learnt. The loop runs, the
loss is printed, and no error is raised.

## How it decides
By counting: at least `times` the usual number of backward passes per step (one, before there was any step) and at least
`fewest` of them, at the moment somebody asks or the run ends. And gradients that are gone when the next backward pass
begins, without a step in between: `lost` passes or more at most steps, `fewest` in all. Where gradients of inputs are
asked for (adversarial examples), those of the model go unused on purpose, and nothing is said.

## When it is wrong
A diagnosis asked for in the middle of a very long accumulation, before its first step.

## What to try
1. Call `optimizer.step()` in the loop over batches, after `backward()`; with a GradScaler `scaler.step(optimizer)` and
   `scaler.update()`.
2. If it is called: watch the optimizer that the loop really steps, not one that was built before it.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = Event(0, "unstepped", {"backwards": 300})
>>> watched = Event(0, "coverage", {"uncovered": [], "stale": 0, "held": 6})
>>> print(*never_stepped.check(a_run(steps=1, events=[watched, seen])))
LOP110 never-stepped: 300 backward passes, and the optimizer has not taken one step.

## References
- PyTorch documentation, Optimizing Model Parameters: zero_grad, backward, step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import DISCARDED_BACKWARDS, LR, MICRO_BATCHES
from bedside.rules.base import rule
from bedside.wording import count


@dataclass(frozen=True)
class Limits:
    fewest: int = 20  # backward passes: accumulation over more micro-batches than this is rare before a first step
    times: float = 10.0  # the usual number per step: ten missed steps are not an accident
    lost: int = 3  # passes for each step: two players with one model between them clear what the other left


@rule("LOP110", severity=Severity.ERROR, needs=[], limits=Limits())
def never_stepped(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("backward passes and steps (a watched run)")
    yield from _thrown_away(run, limits)
    events = run.events_of("unstepped")
    if not events:
        return
    backwards = int(events[-1].data["backwards"])
    usual = run.series(MICRO_BATCHES.name).median()
    has_stepped = usual == usual
    if backwards < max(limits.fewest, limits.times * (usual if has_stepped else 1)):
        return
    since = f"since step {run.steps - 1}" if has_stepped else ""
    yield never_stepped.finding(
        f"{count(backwards)} backward passes {since}, and the optimizer has not stepped again."
        if has_stepped
        else f"{count(backwards)} backward passes, and the optimizer has not taken one step.",
        first_step=max(run.steps - 1, 0),
        last_step=max(run.steps - 1, 0),
        confidence=0.95 if not has_stepped else 0.85,
        evidence={"backwards": backwards, **({"usual_per_step": usual} if has_stepped else {})},
        could_also_be=(
            "Another optimizer does the stepping: print(id(optimizer)) where it is watched and where it steps.",
        ),
        try_=(
            "Call optimizer.step() after loss.backward().",
            "Pass the optimizer that the loop steps to bedside.watch(model, optimizer).",
        ),
    )


def _thrown_away(run: Run, limits: Limits) -> Iterator[Finding]:
    """Steps that use the last of many backward passes, the others having been cleared."""
    lost, steps = run.series(DISCARDED_BACKWARDS.name).finite(), len(run.series(MICRO_BATCHES.name))
    if not len(lost) or 2 * len(lost) <= steps or lost.median() < limits.lost or lost.values.sum() < limits.fewest:
        return
    used = run.series(MICRO_BATCHES.name).median()
    each, total = int(lost.median()), int(lost.median() + used)
    yield never_stepped.finding(
        f"Of the {total} backward passes before a step {each} were for nothing: their gradients were cleared before "
        "the optimizer stepped.",
        first_step=lost.first_step,
        last_step=lost.last_step,
        confidence=0.9,
        evidence={"lost": each, "used": used, "steps": steps},
        series=[DISCARDED_BACKWARDS.name, "loss", LR.name],
        could_also_be=("Gradients that are computed for something else, and not meant for this optimizer.",),
        try_=(
            "Call optimizer.step() after every loss.backward(): look at its indentation in the loop.",
            f"To add up {total} micro-batches on purpose, call optimizer.zero_grad() after the step, not before each "
            "backward(), and divide the loss by their number.",
        ),
    )
