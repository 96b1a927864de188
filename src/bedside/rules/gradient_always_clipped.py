"""Clipping is no longer a seat belt but the driver: nearly every step is cut down to the threshold.

## What it sees
The gradient norm before clipping is above the threshold at nearly every step, well into the run.

## Why it matters
Clipping is meant for the rare wild step. When every step is cut, all steps have the same length whatever the loss
says, and with SGD the learning rate means something else than it says: it is smaller by the factor of the cut. Adam
divides by the gradient's own size, so there a steady cut is nearly harmless; only its ups and downs are felt.

## How it decides
The share of clipped steps after the first tenth of the run and in its second half: above `often` it is a note. It is a
warning when the share is `nearly_all` and the norm `above` times the threshold at the median, unless the optimizer is
known to divide by the gradient's own size. Pre-training recipes that clip while the gradient settles are quiet later.

## When it is wrong
Recipes that normalise every gradient on purpose (some recurrent nets, some reinforcement learning).

## What to try
1. Raise the threshold above the usual norm, so that only the wild steps are cut.
2. Or drop the clipping and lower the learning rate by the same factor: it is what you have now, without the surprise.

## Example
>>> from bedside.testing import a_run
>>> print(*gradient_always_clipped.check(a_run(loss=2.0, grad_norm=[15.0] * 200, clip_threshold=1.0)))
GRD103 gradient-always-clipped: 100 % of the steps are clipped: the gradient norm is 15 where the threshold is 1.

## References
- Pascanu, Mikolov and Bengio (2013), On the difficulty of training recurrent neural networks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.optimizers import is_scale_free
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import CLIP_RATIO, CLIP_THRESHOLD, GRAD_NORM, LOSS, LR
from bedside.rules.advice import one_digit
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    often: float = 0.8  # of the steps: the usual advice
    nearly_all: float = 0.9  # of the steps: recurrent nets clipped at 0.25, a healthy recipe, have 0.87
    above: float = 1.5  # times the threshold: the usual step is cut by a third
    start: float = 0.1  # of the run, left out: gradients settle
    readings: int = 20  # a share of 80 % is then good to 9 points


@rule("GRD103", severity=Severity.WARNING, needs=[GRAD_NORM], limits=Limits())
def gradient_always_clipped(run: Run, limits: Limits) -> Iterator[Finding]:
    norms = run.series(GRAD_NORM.name).finite()
    threshold = _threshold(run)
    if not threshold > 0:
        raise NotEnough("clip_threshold")
    norms = spread_evenly(norms.since(int(limits.start * run.steps)))
    if len(norms) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of grad_norm, has {len(norms)}")
    clipped = norms.values > threshold
    share, later = float(clipped.mean()), float(clipped[len(clipped) // 2 :].mean())
    if min(share, later) < limits.often:
        return
    usual = norms.median()
    adam = is_scale_free(run)
    strong = share >= limits.nearly_all and usual > limits.above * threshold and not adam
    higher = number(one_digit(2 * float(np.percentile(norms.values, 90))))
    yield gradient_always_clipped.finding(
        f"{percent(share)} of the steps are clipped: the gradient norm is {number(usual)} where the threshold is "
        f"{number(threshold)}" + (", which an optimizer like Adam hardly feels." if adam else "."),
        first_step=_onset(norms, threshold, limits),
        last_step=norms.last_step,
        confidence=0.9 if strong else 0.7,
        evidence={"share": share, "second_half": later, "usual_norm": usual, "threshold": threshold},
        series=[GRAD_NORM.name, CLIP_THRESHOLD.name, LR.name, LOSS.name],
        could_also_be=(
            "One module that makes the whole norm: look at grad_norm per module.",
            "A loss summed over tokens or samples instead of averaged: divide it by their number.",
        ),
        try_=(
            f"Raise the threshold from {number(threshold)} to about {higher}: only the wild steps should be cut.",
            f"Or drop the clipping and divide the learning rate by {number(usual / threshold, 2)}: with SGD that is "
            "what you have now.",
        ),
        severity=Severity.WARNING if strong else Severity.NOTE,
    )


def _threshold(run: Run) -> float:
    """The threshold of the clip call, or what the logged ratio says it was."""
    recorded = run.series(CLIP_THRESHOLD.name).finite()
    if recorded:
        return recorded.median()
    ratio, norms = run.series(CLIP_RATIO.name).finite(), run.series(GRAD_NORM.name).finite()
    if ratio and norms and ratio.median() > 0:
        return norms.median() / ratio.median()
    return math.nan


def _onset(norms: Series, threshold: float, limits: Limits) -> int:
    """The first reading from which on, at every later moment, `often` of what follows was clipped."""
    clipped = norms.values > threshold
    rest = np.cumsum(clipped[::-1])[::-1] / np.arange(len(clipped), 0, -1)
    rare = np.flatnonzero(rest[: len(clipped) // 2] < limits.often)
    return int(norms.steps[int(rare[-1]) + 1 if len(rare) else 0])
