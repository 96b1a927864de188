"""From when on two curves differ for good: beyond their own noise, by an amount that matters, and until the end.

Two runs of one recipe with other random numbers never agree to the last digit, and their curves wander apart a little
for ever. So what counts is a difference of several times the curves' own noise that is also large on the scale of the
curve, and that is there to stay. Runs with the same random numbers (their first losses are equal to the last digit)
are equal until something differs: then the very step is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bedside.analysis.statistics import is_rounded, noise_level
from bedside.comparison.result import Divergence
from bedside.record.series import Series, Values


@dataclass(frozen=True)
class Limits:
    most_places: int = 60  # at which curves are compared: a plot shows no more
    fewest_places: int = 8  # fewer show no noise
    noises: float = 5.0  # times the noise of both: pure noise does not reach it in sixty places
    level: float = 0.04  # of the range of both curves: losses and scores of other seeds differ by less at most times
    other: float = 0.1  # of the level of what is not a loss
    share: float = 0.2  # of the units, the samples or the queries: shares of other seeds differ by a tenth at times
    size: float = math.log(2)  # norms of other seeds differ by a third at times; twofold is another regime
    given: float = 0.01  # of a learning rate or a threshold: people set them, and they have no noise
    stays: float = 0.8  # of the places after it: noise may close the gap now and then
    final: float = 0.1  # of the places, at the end: what is over by then was not a divergence
    tail: float = 0.02  # of the readings, at either end: spikes do not make the range of a curve
    equal: float = 1e-6  # relative: float32 holds no more
    apart: float = 0.01  # relative: what stays below it is rounding that adds up


LIMITS = Limits()

GIVENS = ("lr", "clip_threshold", "loss_scale", "micro_batches")
SHARES = ("fraction", "share", "variation", "attention", "cosine")
SIZES = ("norm", "activation", "effective_lr", "input_rms", "input_max", "grad_clip_ratio", "gradient_noise")


def same_numbers(a: Series, b: Series) -> bool:
    """Whether two training losses begin with the same number to the last digit: the same weights and the same batch."""
    if not a or not b or a.first_step != b.first_step or is_rounded(float(a.values[0])):
        return False
    return bool(abs(a.values[0] - b.values[0]) <= LIMITS.equal * abs(a.values[0]))


def find_divergence(a: Series, b: Series, *, exact: bool = False) -> Divergence | None:
    """Where two series of one key diverge, to the step if `exact`; None if they do not, or cannot be compared."""
    broken = _stops_being_finite(a, b)
    if broken is not None:
        return broken
    a, b = a.finite(), b.finite()
    if len(a) < 2 or len(b) < 2:
        return None
    return _leave_each_other(a, b) if exact else _drift_apart(a, b)


def _stops_being_finite(a: Series, b: Series) -> Divergence | None:
    """One of them is NaN or infinite at the end, the other is not."""
    if not a or not b or math.isfinite(a.last) == math.isfinite(b.last):
        return None
    lost = b if math.isfinite(a.last) else a
    good = np.flatnonzero(np.isfinite(lost.values))
    step = int(lost.steps[good[-1] + 1]) if len(good) else lost.first_step
    return Divergence(a.key, step, a.last, b.last)


def _leave_each_other(a: Series, b: Series) -> Divergence | None:
    """The first step at which two runs with the same random numbers differ, if it comes to anything."""
    _, i, j = np.intersect1d(a.steps, b.steps, assume_unique=True, return_indices=True)
    left, right = a.values[i], b.values[j]
    scale = np.maximum(np.abs(left), np.abs(right))
    if not (np.abs(left - right) > LIMITS.apart * scale).any():
        return None
    first = int(np.flatnonzero(np.abs(left - right) > LIMITS.equal * scale)[0])
    step, after = int(a.steps[i][first]), slice(first, None)
    return Divergence(a.key, step, float(np.median(left[after])), float(np.median(right[after])), exact=True)


def _drift_apart(a: Series, b: Series) -> Divergence | None:
    """The place from which on two curves differ by more than their noise, and by enough to matter."""
    first, last = max(a.first_step, b.first_step), min(a.last_step, b.last_step)
    a, b = a.since(first).before(last + 1), b.since(first).before(last + 1)
    places = min(LIMITS.most_places, len(a), len(b))
    if places < LIMITS.fewest_places:
        return None
    edges = np.linspace(first, last + 1, places + 1)
    left, right = _medians(a, edges), _medians(b, edges)
    both = ~(np.isnan(left) | np.isnan(right))
    if both.sum() < LIMITS.fewest_places:
        return None
    left, right, starts = left[both], right[both], edges[:-1][both]
    distance, least = _distance(a.vital, left, right)
    beyond = np.sign(distance) * (np.abs(distance) > least)
    final = beyond[-max(1, int(LIMITS.final * len(beyond))) :]
    if not final.any() or abs(final.sum()) < LIMITS.stays * len(final):
        return None
    stays = beyond == np.sign(final.sum())
    share = np.cumsum(stays[::-1])[::-1] / np.arange(len(stays), 0, -1)
    onset = int(np.flatnonzero(stays & (share >= LIMITS.stays))[0])
    step = max(each.since(math.ceil(starts[onset])).first_step for each in (a, b))  # a reading, not an edge
    return Divergence(a.key, step, float(np.median(left[onset:])), float(np.median(right[onset:])))


def _distance(vital: str, left: Values, right: Values) -> tuple[Values, float]:
    """How far apart two curves are at every place, and how far would be more than noise."""
    if vital in GIVENS:
        scale = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1e-300)
        return (left - right) / scale, LIMITS.given
    if any(word in vital for word in SIZES) and min(left.min(), right.min()) > 0:
        left, right = np.log(left), np.log(right)
        least = LIMITS.size
    elif any(word in vital for word in SHARES):
        least = LIMITS.share
    else:
        every = np.concatenate([left, right])
        low, high = np.quantile(every, [LIMITS.tail, 1 - LIMITS.tail])
        # A loss that is flat may be so at any level; of what is not a loss, the level is the scale.
        judged = "loss" in vital or vital.startswith("val/")
        least = float(LIMITS.level * (high - low) if judged else LIMITS.other * max(high - low, abs(np.median(every))))
    noise = math.hypot(noise_level(left), noise_level(right))
    return left - right, max(least, LIMITS.noises * noise)


def _medians(series: Series, edges: Values) -> Values:
    """The median reading between each two edges; NaN where there is none."""
    cuts = np.searchsorted(series.steps, edges)
    return np.array([np.median(series.values[i:j]) if j > i else np.nan for i, j in pairwise(cuts)])
