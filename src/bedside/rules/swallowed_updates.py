"""Weights in half precision swallow the steps: the change is smaller than the next number they can hold.

## What it sees
The share of weights that had a gradient and that the step left as they were, to the last bit.

## Why it matters
bfloat16 keeps eight bits: next to 0.05 the nearest other number is 0.0002 away. A step of a tenth of that is rounded
back to where it was, again at every step, and the weight never moves. Small learning rates, late in a schedule, are
swallowed first, and large weights before small ones.

## How it decides
In a module in half precision, or one whose float32 weights are rounded to it after every step, more than `most` of the
weights with a gradient did not change, at the median over the run. In float32 that is not rounded the same share means
steps of no size at all, which undersized-update and unmoved-parameter report.

## When it is wrong
Optimizers that remember what was rounded away (Kahan summation) lose nothing, and weights rounded at random lose
nothing on average.

## What to try
1. Keep the weights in float32 and use autocast for the forward pass.
2. Or an optimizer with a float32 master copy or stochastic rounding.

## Example
>>> from bedside.record.run import Parameter
>>> from bedside.testing import a_run
>>> layer = Parameter("layer.weight", "layer", 10_000, dtype="bfloat16")
>>> run = a_run(loss=[2.0] * 100, swallowed_fraction={"layer": 0.78}, parameters=[layer])
>>> print(*swallowed_updates.check(run))
NUM105 swallowed-updates: A step leaves 78 % of the weights of `layer` as they were: bfloat16 cannot hold the change.

## References
- Zamirai et al. (2020), Revisiting BFloat16 training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.leaf_modules import leaves, places
from bedside.analysis.statistics import how_sure
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LR, SWALLOWED_FRACTION, UPDATE_NORM
from bedside.rules.base import rule
from bedside.wording import listed, percent

HALF = ("bfloat16", "float16")


@dataclass(frozen=True)
class Limits:
    most: float = 0.5  # of the weights: float32 twins have 0.1 at most, a bfloat16 net that fell far behind its own 0.7
    readings: int = 20  # as for any verdict


@rule("NUM105", severity=Severity.WARNING, needs=[SWALLOWED_FRACTION.per_owner], limits=Limits())
def swallowed_updates(run: Run, limits: Limits) -> Iterator[Finding]:
    rounded = next((str(event.data["type"]) for event in run.events_of("rounded_weights")), "")
    kinds = {
        p.owner: p.dtype if p.dtype in HALF else rounded
        for p in run.parameters
        if p.trainable and p.in_optimizer and (p.dtype in HALF or (rounded and p.dtype == "float32"))
    }
    if not run.parameters:
        raise NotEnough("the model's parameters (a watched run)")
    layers = [series.finite() for series in leaves(run, SWALLOWED_FRACTION) if series.owner in kinds]
    if not layers:
        return
    if len(layers[0]) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of swallowed_fraction per module, has {len(layers[0])}")
    shares = {series.owner: spread_evenly(series).median() for series in layers}
    found = [owner for owner in shares if shares[owner] > limits.most]
    if not found:
        return
    worst = max(found, key=lambda owner: shares[owner])
    where = places(found, of=[series.owner for series in layers])
    others = [f"`{owner}`" for owner in found if owner != worst]
    more = f", and more than {percent(limits.most)} in {listed(others, 3)}" if others else ""
    why = f"{kinds[worst]} cannot hold the change"
    if rounded:
        why = (
            f"they are stored in float32, and rounded to {kinds[worst]} after every step, which cannot hold the change"
        )
    yield swallowed_updates.finding(
        f"A step leaves {percent(shares[worst])} of the weights of `{worst}` as they were{more}: {why}.",
        first_step=layers[0].first_step,
        last_step=layers[0].last_step,
        confidence=how_sure(shares[worst], limits.most / 2, most=0.95),
        where=where,
        evidence={"swallowed_share": {owner: shares[owner] for owner in found[:20]}, "dtype": kinds[worst]},
        series=[f"{SWALLOWED_FRACTION.name}/{worst}", f"{UPDATE_NORM.name}/{worst}", LR.name, LOSS.name],
        could_also_be=("An optimizer that remembers what was rounded away, which loses nothing: look at its state.",),
        try_=(
            "Take out what rounds the weights after the step." if rounded else "",
            "Keep the weights in float32 and put the forward pass under torch.autocast(dtype=torch.bfloat16).",
            "Or use an optimizer with a float32 copy of the weights, or with stochastic rounding.",
        ),
    )
