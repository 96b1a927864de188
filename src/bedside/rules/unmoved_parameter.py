"""Parameters get a gradient and are in the optimizer, and still they do not move.

## What it sees
Modules whose update is zero, or too small to change one bit of a weight, step after step, while their gradient is not
and others move.

## Why it matters
Something between the gradient and the weight takes the step away: a parameter group with a learning rate of nothing, a
mask, weights in half precision that swallow it, or weights restored after every step.

## How it decides
The update norm is zero, or below `bit` of the weights, at `always` of the readings in the second half of the run, while
the gradient norm is not and the model as a whole still moves at more than `pace` of what it did. Parameters in no
optimizer are left to uncovered-parameter, those without a gradient to silent-parameter and dead-layer. When a
parameter group has a learning rate of exactly zero it is a note: that is a way to freeze. Not so where the layers were
looked at, and still hold the random numbers that they were made with: nobody freezes those on purpose.

## When it is wrong
Layers frozen on purpose by other means than `requires_grad`; random features on purpose.

## What to try
1. Give the parameter group that holds the named module a learning rate.
2. Keep the weights in float32.

## Example
>>> from bedside.testing import a_run
>>> moves = {"": 0.1, "front": 0.1, "head": 0.0}
>>> print(*unmoved_parameter.check(a_run(loss=[2.0] * 100, update_norm=moves, grad_norm={"front": 1.0, "head": 2.0})))
UPD104 unmoved-parameter: `head` does not move at all since step 0, although its gradient norm is 2.

## References
- PyTorch documentation, torch.optim: per-parameter options.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves, places
from bedside.analysis.optimizers import optimizers
from bedside.analysis.windows import second_half
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM, LR, PARAM_NORM, UPDATE_NORM
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import count, listed, number

HALF = frozenset({"float16", "bfloat16"})


@dataclass(frozen=True)
class Limits:
    always: float = 0.95  # of the readings
    bit: float = 2.0**-25  # of the weights: half of the least that float32 can change
    pace: float = 1e-3  # of the model's earlier updates: below it the learning rate has gone, and all stand still
    readings: int = 20  # ten in the second half


@rule("UPD104", severity=Severity.WARNING, needs=[UPDATE_NORM.per_owner, GRAD_NORM.per_owner], limits=Limits())
def unmoved_parameter(run: Run, limits: Limits) -> Iterator[Finding]:
    layers = leaves(run, UPDATE_NORM)
    if not layers or len(layers[0]) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of update_norm per module, has {len(layers[0]) if layers else 0}")
    overall = run.series(UPDATE_NORM.name).finite()
    if overall and overall.median(len(overall) // 2) < limits.pace * float(overall.values.max()):
        return
    uncovered = {p.owner for p in run.parameters if not p.in_optimizer}
    least = _least(run, limits)
    plain = all(str(each.get("name", "")).lower() == "sgd" for each in optimizers(run)) and bool(optimizers(run))
    rate = run.series(LR.name).finite().median()  # SGD steps by this times the gradient: next to none for next to none
    run.of(GRAD_NORM.name)  # in one go, not module by module
    still = []
    for series in layers:
        later = second_half(series).values
        gradient = run.series(GRAD_NORM.name, series.owner).finite()
        now = gradient.median(len(series) // 2) if gradient else 0.0
        fed = now > 0 and not (plain and rate * now <= least.get(series.owner, 0.0))
        if fed and series.owner not in uncovered and np.mean(later <= least.get(series.owner, 0.0)) >= limits.always:
            still.append(series)
    if not still or len(still) == len(layers):
        return  # when nothing moves, the learning rate or the loop is to blame
    where = places([series.owner for series in still], of=[series.owner for series in layers])
    moved = np.flatnonzero(still[0].values > least.get(still[0].owner, 0.0))
    first = int(still[0].steps[int(moved[-1]) + 1 if len(moved) and moved[-1] + 1 < len(still[0]) else 0])
    frozen_group = any(
        len(rates) and rates.finite().median(10) == 0 for rates in [run.series(LR.name), *run.of(LR.name)]
    )
    norm = run.series(GRAD_NORM.name, still[0].owner).median(50)
    random = _random(run, [series.owner for series in still])
    made = f" They still hold the random numbers that they were made with ({count(random)} of them)." if random else ""
    yield unmoved_parameter.finding(
        f"{listed(f'`{name}`' for name in where)} {'does' if len(where) == 1 else 'do'} not move at all since "
        f"{moment(run, first)}, although {'its' if len(where) == 1 else 'the first'} gradient norm is {number(norm)}."
        f"{made}",
        first_step=first,
        last_step=still[0].last_step,
        confidence=0.6 if frozen_group and not random else 0.9,
        where=where,
        evidence={"unmoved": [series.owner for series in still][:20], "group_with_rate_zero": frozen_group},
        series=[still[0].key, f"{GRAD_NORM.name}/{still[0].owner}"],
        could_also_be=(
            "A layer frozen on purpose: say so with requires_grad_(False), and its gradient costs nothing.",
        ),
        try_=(
            f"Give the parameter group that holds `{where[0]}` a learning rate: {_rates(run)}."
            if frozen_group
            else f"Find what puts `{where[0]}` back after each step: the groups' learning rates are {_rates(run)}.",
            "Keep the weights in float32: half precision rounds small steps away." if _short(run, where) else "",
        ),
        severity=Severity.NOTE if frozen_group and not random else Severity.WARNING,
    )


def _random(run: Run, owners: list[str]) -> int:
    """How many of the weights that do not move are random numbers, as far as the layers were looked at."""
    for event in run.events_of("hardly_stepped_weights")[-1:]:
        if set(event.data["names"]) & set(owners):
            return int(event.data["size"])
    return 0


def _rates(run: Run) -> str:
    """The last learning rate of every parameter group."""
    groups = [series for series in run.of(LR.name) if series] or [run.series(LR.name)]
    return listed((number(series.last) for series in groups if series), 6) or "not recorded"


def _short(run: Run, where: list[str]) -> bool:
    """Whether weights of these modules are kept in a type of 16 bits."""
    return any(p.dtype in HALF and p.owner.startswith(tuple(where)) for p in run.parameters)


def _least(run: Run, limits: Limits) -> dict[str, float]:
    """By module, the update norm below which its weights are, to the bit, what they were."""
    weights = [series.finite() for series in run.of(PARAM_NORM.name)]
    return {series.owner: limits.bit * series.median() for series in weights if series}
