"""The arithmetic of a learning-rate range test: from rates and losses to what the curve says. No torch in here.

>>> import numpy as np
>>> rates = np.geomspace(1e-6, 1, 61)
>>> losses = 2.3 - 1.5 / (1 + (1e-3 / rates) ** 2) + (rates / 0.1) ** 3
>>> curve = read_curve(rates, losses[None, :])
>>> f"{curve.steepest:.0e} {curve.minimum:.0e} {curve.usable}"
'1e-03 6e-02 True'
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Limits:
    """When a curve gives an answer."""

    smoothing: float = 0.9  # of the running mean; its bias at the start is corrected
    diverged: float = 3.0  # times the scale of the loss above its best: nobody comes back from there
    fall: float = 0.05  # of the first loss: a curve that falls less shows no direction (fine-tuning looks so)
    noise: float = 4.0  # standard errors: a fall within them may be chance
    window: float = 1.0  # decades that a slope is fitted to: batches differ more than neighbouring rates do
    decades: float = 1.0  # between repeats: a suggestion that moves by more than tenfold is none


@dataclass(frozen=True)
class Curve:
    """What a sweep says about rates; NaN where it does not say."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]  # smoothed, mean over repeats
    low: tuple[float, ...]  # over repeats
    high: tuple[float, ...]
    steepest: float
    steepest_low: float  # over repeats
    steepest_high: float
    valley: float  # two thirds down the longest fall
    minimum: float
    divergence: float
    usable: bool
    reason: str  # why not


def smoothed(losses: Values, keep: float = Limits.smoothing) -> Values:
    """Exponential running mean with bias correction; it ends at the first value that is not finite."""
    mean, out = 0.0, []
    for place, value in enumerate(losses):
        if not math.isfinite(value):
            break
        mean = keep * mean + (1 - keep) * float(value)
        out.append(mean / (1 - keep ** (place + 1)))
    return np.asarray(out)


def has_diverged(losses: list[float], limits: Limits | None = None) -> bool:
    """Whether the sweep may stop: the smoothed loss is far above its best, or not finite."""
    limits = limits or Limits()
    if not math.isfinite(losses[-1]):
        return True
    curve = smoothed(np.asarray(losses), limits.smoothing)
    best = float(curve.min())
    return float(curve[-1]) > best + limits.diverged * max(abs(losses[0]), losses[0] - best)


def read_curve(rates: Values, repeats: Values, limits: Limits | None = None) -> Curve:
    """Steepest point, valley, minimum and divergence of a sweep.

    Args:
        rates: Ascending, evenly spaced in their logarithm.
        repeats: One row of raw losses for each repeat; NaN after a repeat has diverged.
    """
    limits = limits or Limits()
    rows = [smoothed(row, limits.smoothing) for row in repeats]
    length = min(len(row) for row in rows)
    if length < 8:
        return _no_answer(rates, rows, length, "the loss is not finite or diverges within the first few rates")
    together = np.stack([row[:length] for row in rows])
    mean, log = together.mean(0), np.log10(rates[:length])
    noise = _noise(repeats[:, : max(8, length // 4)]) / math.sqrt(len(rows))
    minimum = int(np.argmin(mean))
    end = max(minimum + 1, length // 2)  # what comes after the lowest point is bouncing, not falling
    points = [_steepest(log[:end], row[:end]) for row in repeats]
    steepest = _steepest(log[:end], repeats[:, :end].mean(0))
    fall = float(mean[0] - mean[minimum])
    reason = ""
    if fall < limits.fall * abs(mean[0]) or fall < limits.noise * noise * math.sqrt(1 - limits.smoothing):
        reason = (
            "the loss hardly falls at any rate: typical of fine-tuning, where the start is good already and a sweep of "
            "rising rates shows only harm"
        )
    elif max(points) - min(points) > limits.decades:
        reason = f"repeats disagree: steepest anywhere from {10 ** min(points):.1e} to {10 ** max(points):.1e}"
    return Curve(
        tuple(rates[:length].tolist()),
        tuple(mean.tolist()),
        tuple(together.min(0).tolist()),
        tuple(together.max(0).tolist()),
        10**steepest,
        10 ** min(points),
        10 ** max(points),
        10 ** _valley(log, mean),
        float(rates[minimum]),
        _divergence(rates[:length], mean, noise),
        not reason,
        reason,
    )


def _no_answer(rates: Values, rows: list[Values], length: int, reason: str) -> Curve:
    shown = tuple(rows[0][:length].tolist())
    nan = math.nan
    end = float(rates[min(length, len(rates) - 1)])
    return Curve(tuple(rates[:length].tolist()), shown, shown, shown, nan, nan, nan, nan, nan, end, False, reason)


def _steepest(log: Values, losses: Values, limits: Limits | None = None) -> float:
    """Logarithm of the rate at which the loss falls fastest: the slope of a line fitted to the points around each."""
    half = max(2, round((limits or Limits()).window / 2 / (log[1] - log[0])))
    best, where = math.inf, len(log) // 2
    for place in range(half, len(log) - half):
        around = slice(place - half, place + half + 1)
        if (slope := float(np.polyfit(log[around], losses[around], 1)[0])) < best:
            best, where = slope, place
    return float(log[where])


def _valley(log: Values, losses: Values) -> float:
    """Two thirds into the longest stretch of falling losses, as others place it too."""
    best_length, best_end, length = 0, 0, 0
    for place in range(1, len(losses)):
        length = length + 1 if losses[place] < losses[place - 1] else 0
        if length > best_length:
            best_length, best_end = length, place
    start = best_end - best_length
    return float(log[start + round(best_length * 2 / 3)])


def _divergence(rates: Values, losses: Values, noise: float) -> float:
    """The rate at which the loss is back above where it began, after its lowest; the last rate if it never is."""
    lowest = int(np.argmin(losses))
    above = np.flatnonzero(losses[lowest:] > losses[0] + 2 * noise)
    return float(rates[lowest + above[0]]) if len(above) else float(rates[-1])


def _noise(losses: Values) -> float:
    """Standard deviation of the loss from batch to batch, where the rate is still too small to matter."""
    differences = np.diff(losses, axis=1)
    finite = differences[np.isfinite(differences)]
    return float(1.4826 * np.median(np.abs(finite - np.median(finite))) / math.sqrt(2)) if finite.size else 0.0
