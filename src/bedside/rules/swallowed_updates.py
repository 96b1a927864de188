"""Half-precision weights swallow the updates: the steps are smaller than the numbers can hold.

## What it sees
Weights kept in bfloat16 or float16 whose steps are so small that adding them changes nothing.

## Why it matters
bfloat16 has eight bits: a weight of 1 cannot change by less than 0.004. A step below half of that is rounded away,
again at every step, and the weight never moves. Small learning rates, late in a schedule, are swallowed first.

## How it decides
For every module in half precision, the step that was asked for (the learning rate for optimizers like Adam; learning
rate times gradient for SGD) is compared with half of the gap between neighbouring numbers at the module's typical
weight. Less than `swallowed` of it, at the median of the last quarter of the run, means that most weights cannot move.

## When it is wrong
Optimizers that keep a float32 copy of the weights, or round at random: both do not lose anything.

## What to try
1. Keep the weights in float32 and use autocast for the forward pass.
2. Or an optimizer with a float32 master copy or stochastic rounding.

## Example
>>> from bedside.record.run import Parameter
>>> from bedside.testing import a_run
>>> layer = Parameter("layer.weight", "layer", 10_000, dtype="bfloat16")
>>> run = a_run(loss=[2.0] * 100, lr=1e-6, param_norm={"layer": 5.0}, parameters=[layer],
...             config={"optimizers": [{"name": "AdamW"}]})
>>> print(*swallowed_updates.check(run))
NUM105 swallowed-updates: In `layer` (bfloat16) a step of 1e-6 is 0.01 of what its weights, 0.05, can hold.

## References
- Zamirai et al. (2021), Revisiting bfloat16 training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from bedside.finding import Finding, NotEnough, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM_CLIPPED, LOSS, LR, PARAM_NORM, UPDATE_NORM
from bedside.report.wording import listed, number
from bedside.rules.leaves import leaves, owner_sizes, places
from bedside.rules.optimizers import is_scale_free
from bedside.rules.rule import rule

HALF_GAP = {"bfloat16": 2.0**-9, "float16": 2.0**-12}  # relative: half of the gap above 1


@dataclass(frozen=True)
class Limits:
    swallowed: float = 0.125  # of the half gap: weights above an eighth of the typical one, 90 % of them, cannot move
    readings: int = 20  # five in the last quarter


@rule("NUM105", severity=Severity.WARNING, needs=[PARAM_NORM.per_owner, LR], limits=Limits(), preview_since="0.1")
def swallowed_updates(run: Run, limits: Limits) -> Iterator[Finding]:
    half = {p.owner: p.dtype for p in run.parameters if p.trainable and p.in_optimizer and p.dtype in HALF_GAP}
    if not run.parameters:
        raise NotEnough("the model's parameters (a watched run)")
    layers = [series for series in leaves(run, PARAM_NORM) if series.owner in half]
    if not layers:
        return
    if len(layers[0]) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of param_norm per module, has {len(layers[0])}")
    sizes, quarter = owner_sizes(run), max(1, len(layers[0]) // 4)
    found: dict[str, tuple[float, float, float]] = {}
    for series in layers:
        weight = series.median(quarter) / math.sqrt(sizes[series.owner])
        step = _asked_for(run, series, sizes[series.owner], quarter)
        held = HALF_GAP[half[series.owner]] * weight
        if 0 < step < limits.swallowed * held:
            found[series.owner] = (step / held, step, weight)
    if not found:
        return
    where = places(list(found), of=[series.owner for series in layers])
    worst = min(found, key=lambda owner: found[owner][0])
    share, step, weight = found[worst]
    yield swallowed_updates.finding(
        f"In {listed((f'`{name}`' for name in where), 3)} ({half[worst]}) a step of {number(step, 1)} is "
        f"{number(share, 1)} of what its weights, {number(weight, 1)}, can hold.",
        first_step=layers[0].tail(quarter).first_step,
        last_step=layers[0].last_step,
        confidence=0.7,
        where=where,
        evidence={"share_of_the_smallest_change": share, "step": step, "typical_weight": weight, "dtype": half[worst]},
        series=[LR.name, f"{UPDATE_NORM.name}/{worst}", LOSS.name],
        could_also_be=("An optimizer with a float32 copy of the weights, which loses nothing: look at its state.",),
        try_=(
            "Keep the weights in float32 and put the forward pass under torch.autocast(dtype=torch.bfloat16).",
            f"Or raise the learning rate {number(1 / share, 1)}-fold, if the run can bear it.",
        ),
    )


def _asked_for(run: Run, series: Series, size: int, quarter: int) -> float:
    """How far the optimizer wanted to move one number."""
    rate = run.series(LR.name).median(quarter)
    if is_scale_free(run):
        return rate  # at most: Adam's step is the learning rate times a number between 0 and 1
    gradient = run.series(GRAD_NORM_CLIPPED.name, series.owner)
    return rate * gradient.median(quarter) / math.sqrt(size) if gradient else math.nan
