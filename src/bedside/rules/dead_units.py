"""Most units of a layer are never active, whatever the input.

## What it sees
Units of a ReLU-like layer that were zero at every position of the last samples, a thousand positions or more.

## Why it matters
A unit that is never active gets no gradient, so nothing brings it back. The layer works with what is left, and when all
of it is dead nothing passes: everything in front of it stops learning, and the output no longer depends on the input.
Typical: a learning rate too high in the first steps, biases far below zero, inputs that are not normalised.

## How it decides
The share of dead units at the end of the run, as the median of the last readings. Healthy nets have up to half of them
dead in their widest layers, so above `some` it is a note, above `most` a warning, and an error when not one is alive.
A small layer goes beyond a half by chance (of sixteen units, thirteen), so a warning is also `sigmas` of a fair coin
beyond `some`.

## When it is wrong
Layers far wider than the task needs, pruned layers, and units that wait for a rare kind of input.

## What to try
1. Lower the learning rate, or warm it up: large first steps kill units.
2. A non-linearity with a slope on both sides: `nn.LeakyReLU`, `nn.GELU`.
3. He initialisation, and biases that start at zero.

## Example
>>> from bedside.testing import a_run
>>> print(*dead_units.check(a_run(loss=2.3, dead_fraction={"front.relu": 0.1, "back.relu": 0.93})))
ACT101 dead-units: 93 % of the units of `back.relu` are dead: no input activates them.

## References
- Lu et al. (2020), Dying ReLU and initialization: theory and numerical examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics import how_sure
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import DEAD_FRACTION, DEAD_UNITS, LOSS
from bedside.rules.advice import lower_learning_rate
from bedside.rules.base import rule
from bedside.wording import listed, percent


@dataclass(frozen=True)
class Limits:
    some: float = 0.5  # healthy nets of many widths and rates stay at or below 0.45 (measured on digits)
    most: float = 0.8  # from here on those nets learnt visibly less than their twins
    sigmas: float = 3.0  # of the share of that many coins: chance does it once in a thousand layers
    last: int = 5  # readings that make "now"
    fewest_units: int = 8  # a layer of fewer has no typical share


@rule("ACT101", severity=Severity.WARNING, needs=[DEAD_FRACTION.per_owner], limits=Limits())
def dead_units(run: Run, limits: Limits) -> Iterator[Finding]:
    units = {s.owner: _units(run, s) for s in run.of(DEAD_FRACTION.name) if s}
    now = {o: run.series(DEAD_FRACTION.name, o).median(limits.last) for o in units if units[o] >= limits.fewest_units}
    warned = [owner for owner in now if now[owner] > max(limits.most, _beyond_chance(units[owner], limits))]
    limit = limits.most if warned else limits.some
    affected = warned or [owner for owner in now if now[owner] > limits.some]
    if not affected:
        return
    worst = max(affected, key=lambda owner: now[owner])
    series = run.series(DEAD_FRACTION.name, worst)
    onset = _stays_above(series, limit)
    others = f" and more than {percent(limit)} of {listed(f'`{o}`' for o in affected if o != worst)}"
    all_dead = now[worst] >= 1.0
    yield dead_units.finding(
        f"{'All' if all_dead else percent(now[worst]) + ' of the'} units of `{worst}`"
        f"{others if len(affected) > 1 else ''} are dead: no input activates them.",
        severity=Severity.ERROR if all_dead else None if limit == limits.most else Severity.NOTE,
        first_step=onset,
        last_step=series.last_step,
        confidence=how_sure(now[worst], limits.some, most=0.95),
        where=affected,
        evidence={"dead_share": {owner: now[owner] for owner in affected}},
        series=[series.key, LOSS.name],
        could_also_be=("A layer wider than the task needs: halve it, and the loss stays where it is.",),
        try_=(
            lower_learning_rate(run, onset, by=3)
            if onset > series.first_step
            else "",  # born dead is not a fault of steps
            "Use a non-linearity with a slope on both sides there: nn.LeakyReLU() or nn.GELU().",
            ""
            if onset > series.first_step
            else "Start with He initialisation and zero biases, and normalise the inputs.",
        ),
    )


def _beyond_chance(units: float, limits: Limits) -> float:
    """The share that as many coins do not reach; of very few, all but all."""
    return min(0.999, limits.some + limits.sigmas * 0.5 / math.sqrt(units))


def _stays_above(series: Series, limit: float) -> int:
    below = np.flatnonzero(series.values <= limit)
    return int(series.steps[min(len(series) - 1, int(below[-1]) + 1 if len(below) else 0)])


def _units(run: Run, series: Series) -> float:
    """How many units the layer has, from its dead ones and their share; large where that is unknown."""
    dead = run.series(DEAD_UNITS.name, series.owner)
    if not dead or not series.last > 0:
        return np.inf
    return float(dead.last / series.last)
