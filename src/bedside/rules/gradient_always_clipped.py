"""Nearly every step is clipped, so that the threshold and not the gradient decides how far steps go.

## What it sees
The gradient norm before clipping is above the threshold at nearly every step, well into the run.

## Why it matters
Clipping is meant for the rare wild step. When every step is cut, all steps have the same length whatever the loss
says, and with SGD the learning rate means something else than it says: it is smaller by the factor of the cut. Adam
divides by the gradient's own size, so there a steady cut is nearly harmless; only its ups and downs are felt.

## How it decides
The share of clipped steps after the first tenth of the run and in its second half: above `often` it is a note. It is a
warning when the share is `nearly_all` and the norm `above` times the threshold at the median, unless the optimizer is
known to divide by the gradient's own size, or the loss came down to `learned` of its first level all the same: short
steps were long enough. Where the norm before clipping is not known (only how often it was clipped,
or a norm that sits on its highest value), the share must be `all_`. With clipping by value some element is nearly
always above the threshold, so a step counts when its norm was cut by a factor of `above`; a short run that is seldom
looked at is judged if every reading was cut by a factor of `crushed`. Pre-training recipes that clip while the gradient
settles stop clipping later. A threshold of 0 clips every gradient to nothing, whatever the optimizer.

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

from bedside.analysis.clipping_by_value import clips_by_value
from bedside.analysis.losses import judged_loss
from bedside.analysis.optimizers import is_scale_free
from bedside.analysis.windows import spread_evenly
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import (
    CLIP_ACTIVE,
    CLIP_RATIO,
    CLIP_THRESHOLD,
    GRAD_NORM,
    GRAD_NORM_CLIPPED,
    LOSS,
    LR,
)
from bedside.rules.advice import CLIPPING, one_digit
from bedside.rules.base import rule
from bedside.rules.what_was_seen import one_module_makes_the_norm
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    often: float = 0.8  # of the steps: the usual advice
    nearly_all: float = 0.9  # of the steps: recurrent nets clipped at 0.25, a healthy recipe, have 0.87
    all_: float = 0.95  # of the steps: an unseen norm that is hardly ever below the threshold lies well above it
    above: float = 1.5  # times the threshold: the usual step is cut by a third
    learned: float = 0.1  # of the first loss: nine tenths of it won, nobody was held back by short steps
    start: float = 0.1  # of the run, left out: gradients settle
    readings: int = 20  # a share of 80 % is then good to 9 points
    few: int = 3  # readings after the start, where every one of the run, those of the start too, was `crushed`
    crushed: float = 10.0  # times smaller than it was: not a matter of degree


@rule("GRD103", severity=Severity.WARNING, needs=[], limits=Limits())
def gradient_always_clipped(run: Run, limits: Limits) -> Iterator[Finding]:
    norms, threshold = run.series(GRAD_NORM.name).finite(), _threshold(run)
    if clips_by_value(run):
        yield from _by_value(run, threshold, limits)
        return
    left = run.series(GRAD_NORM_CLIPPED.name).finite()
    if threshold == 0 and norms.median() > 0 and left and not left.values.any():  # in some logs a 0 says "off"
        yield _to_nothing(norms)
        return
    seen = bool(norms) and threshold > 0
    active = run.series(CLIP_ACTIVE.name).finite()
    if not seen and not active:
        raise NotEnough("grad_norm" if not norms else "clip_threshold")
    judged = spread_evenly((norms if seen else active).since(int(limits.start * run.steps)))
    if len(judged) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of {judged.vital}, has {len(judged)}")
    clipped = (judged.values > threshold).astype(float) if seen else judged.values
    share, later = float(clipped.mean()), float(clipped[len(clipped) // 2 :].mean())
    if min(share, later) < limits.often:
        return
    adam = is_scale_free(run)
    if not seen:
        yield _unseen(run, judged, share, threshold, strong=min(share, later) >= limits.all_ and not adam)
        return
    norms, usual = judged, judged.median()
    strong = share >= limits.nearly_all and usual > limits.above * threshold and not (adam or _learned(run, limits))
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
            one_module_makes_the_norm(run),
            "A loss summed over tokens or samples instead of averaged: divide it by their number.",
        ),
        try_=(
            Advice(
                f"Raise the threshold from {number(threshold)} to about {higher}: only the wild steps should be cut.",
                CLIPPING,
                1,
            ),
            f"Or drop the clipping and divide the learning rate by {number(usual / threshold, 2)}: with SGD that is "
            "what you have now.",
        ),
        severity=Severity.WARNING if strong else Severity.NOTE,
    )


def _to_nothing(norms: Series) -> Finding:
    """A threshold of 0 was meant to switch clipping off, as configurations of some trainers have it."""
    return gradient_always_clipped.finding(
        f"The clipping threshold is 0: of a gradient norm of {number(norms.median())} nothing is left at any step.",
        first_step=norms.first_step,
        last_step=norms.last_step,
        confidence=0.97,
        evidence={"usual_norm": norms.median(), "threshold": 0.0},
        series=[GRAD_NORM.name, GRAD_NORM_CLIPPED.name, CLIP_THRESHOLD.name, LOSS.name],
        try_=(
            Advice("Leave the clip call out where clipping is to be off: `if max_norm > 0:` before it.", CLIPPING, 1),
            Advice("Or set a threshold: 1.0 is the usual one.", CLIPPING, 1),
        ),
    )


def _by_value(run: Run, threshold: float, limits: Limits) -> Iterator[Finding]:
    """Some element is above the threshold at most steps by right; what counts is how much of the norm is cut off."""
    before, after = run.series(GRAD_NORM.name).finite(), run.series(GRAD_NORM_CLIPPED.name).finite()
    steps, at, left_at = np.intersect1d(before.steps, after.steps, return_indices=True)
    judged = steps >= int(limits.start * run.steps)
    with np.errstate(divide="ignore", invalid="ignore"):
        cut = np.where(before.values[at] > 0, before.values[at] / after.values[left_at], 1.0)
    crushed = judged.sum() >= limits.few and len(cut) >= limits.readings and cut.min() > limits.crushed
    if judged.sum() < limits.readings and not crushed:
        raise NotEnough(f"{limits.readings} readings of grad_norm before and after clipping, has {judged.sum()}")
    onset = int(steps[int(np.argmax(cut > limits.above))])
    hard = cut[judged] > limits.above
    share, later = float(hard.mean()), float(hard[len(hard) // 2 :].mean())
    if min(share, later) < limits.often:
        return
    usual, left = float(np.median(before.values[at])), float(np.median(after.values[left_at]))
    strong = share >= limits.nearly_all and not (is_scale_free(run) or _learned(run, limits))
    ratio = run.series(CLIP_RATIO.name).finite()
    higher = number(one_digit(threshold * float(np.percentile(ratio.values, 90)))) if ratio else number(10 * threshold)
    yield gradient_always_clipped.finding(
        f"{percent(share)} of the steps are clipped by value at {number(threshold)}: of a gradient norm of "
        f"{number(usual)}, {number(left)} is left.",
        first_step=onset,
        last_step=int(steps[-1]),
        confidence=0.9 if strong else 0.7,
        evidence={"share": share, "second_half": later, "usual_norm": usual, "left": left, "threshold": threshold},
        series=[GRAD_NORM.name, GRAD_NORM_CLIPPED.name, CLIP_THRESHOLD.name, LOSS.name],
        could_also_be=("Signs of gradients used on purpose instead of their sizes.",),
        try_=(
            Advice(
                f"Raise the threshold from {number(threshold)} to about {higher}: only wild elements should be cut.",
                CLIPPING,
                1,
            ),
            "Or clip the norm instead, which keeps the gradient's direction: "
            "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).",
        ),
        severity=Severity.WARNING if strong else Severity.NOTE,
    )


def _unseen(run: Run, active: Series, share: float, threshold: float, *, strong: bool) -> Finding:
    """Clipped again and again, though nobody wrote down what the norm was before."""
    at = f" at {number(threshold)}" if threshold > 0 else ""
    return gradient_always_clipped.finding(
        f"{percent(share)} of the steps are clipped{at}, to the end of the run.",
        first_step=active.first_step,
        last_step=active.last_step,
        confidence=0.8 if strong else 0.6,
        evidence={"share": share, "threshold": threshold if threshold > 0 else None},
        series=[CLIP_ACTIVE.name, GRAD_NORM_CLIPPED.name, LR.name, LOSS.name],
        could_also_be=("Gradients that are normalised at every step on purpose: look at the training loop.",),
        try_=(
            "Log the norm before clipping, which clip_grad_norm_ returns, and set the threshold above its usual value.",
        ),
        severity=Severity.WARNING if strong else Severity.NOTE,
    )


def _learned(run: Run, limits: Limits) -> bool:
    """Whether so little of the loss is left that steps of one length cannot have held the run back."""
    loss = judged_loss(run).finite()
    if len(loss) < limits.readings or not float(loss.values.min()) >= 0:
        return False
    return loss.tail(limits.readings).median() < limits.learned * loss.head(limits.readings // 4).median()


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
