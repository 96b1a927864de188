"""Gradients fade on the way to the input, so the early layers hardly learn.

## What it sees
Layer by layer towards the front the gradient shrinks, until the first layers get a minute fraction of what the last
ones get, and it stays so.

## Why it matters
Early layers keep their random features while the back fits what it can on top of them. The loss may still fall a
little, so the curve alone does not show it.

## How it decides
Norms are compared leaf with leaf, by their medians over the run without its first fifth (a head that starts at zero
passes nothing back for a step or two, and that is healthy). Even the best-fed leaf of the first quarter gets less than
`ratio` times what is usual in the last quarter, and the fade is gradual: some leaves in between are in between. A cut
from healthy to exactly zero is left to dead-layer. Adam divides by the gradient's own size, so when updates are
recorded the front must also move more slowly than the back (`pace`), unless nothing was learned: the loss improved by
less than `improved` and bears a sign of ignorance, such as the level of chance (see stuck-from-start).

## When it is wrong
Layers that were trained before and are only touched up; parameters listed in another order than they are used in.

## What to try
1. ReLU or GELU in place of sigmoid or tanh, with an initialisation to match (He).
2. Normalisation, or a skip connection across the quiet layers.
3. Fewer layers, to see that depth is the cause.

## Example
>>> from bedside.testing import a_run
>>> fade = {"layers.0": 3e-9, "layers.1": 2e-7, "layers.2": 1e-5, "layers.3": 8e-4, "head": 0.3}
>>> print(*vanishing_gradient.check(a_run(loss=[2.3] * 100, grad_norm=fade)))
GRD101 vanishing-gradient: The gradient fades towards the front: `layers.0` gets 1e-8 of what `head` gets.

## References
- Hochreiter (1991), Untersuchungen zu dynamischen neuronalen Netzen.
- Glorot and Bengio (2010), Understanding the difficulty of training deep feedforward neural networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves, places
from bedside.analysis.untrained_signs import signs_of_ignorance
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import GRAD_NORM, LOSS, RELATIVE_UPDATE
from bedside.rules.advice import other_nonlinearity, scale_the_loss
from bedside.rules.base import rule
from bedside.rules.what_was_seen import units_at_their_ends
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    ratio: float = 1e-3  # the usual rule: within 100-fold healthy, 1000-fold vanishing; 37 healthy nets: above 5e-3
    pace: float = 0.1  # relative updates of the front over those of the back: ten times slower is felt
    improved: float = 0.05  # of the first loss: less is a plateau, as for undersized-update
    leaves: int = 4  # fewer have no "on the way"
    readings: int = 20  # per leaf: a median of 20 is good to a quarter of its spread
    start: float = 0.2  # of the readings, left out: zero-initialised heads and warm-up


@rule("GRD101", severity=Severity.ERROR, needs=[GRAD_NORM.per_owner], limits=Limits())
def vanishing_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    layers = [series for series in leaves(run, GRAD_NORM) if np.isfinite(series.values).any()]
    if len(layers) < limits.leaves:
        return  # too shallow to fade
    if len(layers[0]) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm per module, has {len(layers[0])}")
    norms = np.array([_usual(series, limits) for series in layers])
    quarter = max(1, len(layers) // 4)
    loud = len(layers) - quarter + int(np.argsort(norms[-quarter:])[quarter // 2])
    back = float(norms[loud])
    best = int(np.argmax(norms[:quarter]))
    if not norms[best] < limits.ratio * back:  # a product, so that a gradient of zero cannot divide by zero
        return
    between = norms[quarter:-quarter]
    gradual = ((between > norms[best]) & (between < math.sqrt(limits.ratio) * back)).any()
    if not gradual or not norms[: 2 * quarter].any():
        return
    pace = _pace(run, layers[:quarter], layers[-quarter:], limits)
    if pace > limits.pace and _learns(run, limits):
        return
    quiet = [series.owner for series, norm in zip(layers, norms, strict=True) if norm < limits.ratio * back]
    where = places(quiet, of=[series.owner for series in layers])
    front, ratio = layers[best], float(norms[best] / back)
    yield vanishing_gradient.finding(
        f"The gradient fades towards the front: `{front.owner}` gets {number(ratio, 1)} of what "
        f"`{layers[loud].owner}` gets.",
        first_step=_onset(front, layers[loud], limits),
        last_step=front.last_step,
        confidence=min(0.98, 0.7 + 0.05 * math.log10(limits.ratio / max(ratio, 1e-12))),
        where=where,
        evidence={
            "ratio": ratio,
            "quiet_leaves": len(quiet),
            "leaves": len(layers),
            "norms": {series.owner: float(norm) for series, norm in zip(layers, norms, strict=True)},
        },
        series=[front.key, layers[loud].key, LOSS.name],
        could_also_be=(
            "Front layers that were trained before and need no change: compare their weights with the checkpoint.",
            units_at_their_ends(run),
        ),
        try_=(
            scale_the_loss(run),
            other_nonlinearity(run, _named(where)),
            f"Put a normalisation or a skip connection across {_named(where)}.",
            f"Train with {max(2, (len(layers) - len(quiet)))} layers instead of {len(layers)}: if that learns, depth "
            "is the cause.",
        ),
    )


def _usual(series: Series, limits: Limits) -> float:
    later = spread_evenly(series.finite(), limits.start)
    return later.median() if later else 0.0


def _pace(run: Run, front: list[Series], back: list[Series], limits: Limits) -> float:
    """How fast the front moves for its size, over how fast the back does; 0 when updates were not recorded."""
    speeds = [
        [_usual(series, limits) for each in part if (series := run.series(RELATIVE_UPDATE.name, each.owner))]
        for part in (front, back)
    ]
    if not all(speeds):
        return 0.0
    slow, fast = max(speeds[0]), float(np.median(speeds[1]))
    return slow / fast if fast > 0 else 0.0


def _learns(run: Run, limits: Limits) -> bool:
    """Whether the loss came down, or may have been good from the start."""
    loss = run.series(LOSS.name).finite()
    if len(loss) < limits.readings:
        return True
    start, end = float(np.median(loss.values[:5])), loss.median(max(5, len(loss) // 10))
    return start - end > limits.improved * abs(start) or not signs_of_ignorance(run, end)


def _onset(front: Series, back: Series, limits: Limits) -> int:
    """The first step since which the front stayed starved, but for single readings."""
    _, i, j = np.intersect1d(front.steps, back.steps, return_indices=True)
    starved = front.values[i] < limits.ratio * back.values[j]
    fed = np.flatnonzero(np.convolve(np.pad(~starved, 1, "edge"), np.ones(3), "valid") >= 2)  # two of three neighbours
    return int(front.steps[i][min(len(i) - 1, int(fed[-1]) + 1 if len(fed) else 0)])


def _named(where: list[str]) -> str:
    return f"`{where[0]}`" + (f" … `{where[-1]}`" if len(where) > 1 else "")
