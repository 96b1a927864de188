"""A term of the loss whose weight rises on the way: a warm-up of the divergence, a ramp of the consistency.

The total rises with it, whatever is learned: its level today does not compare with its level before. What does is the
part that the weight leaves alone. The weight may be logged, or it shows in the parts: what the total has beside the one
is an ever greater share of the other.

>>> import numpy as np
>>> from bedside.testing import a_run
>>> ramp, error = np.minimum(1, np.arange(60) / 30), 9 - 0.1 * np.arange(60)
>>> run = a_run(loss=error + 5 * ramp, beta=ramp, **{"train/recon": error})
>>> rising_weight(run), untouched_part(run, "train").key
('beta', 'train/recon')
"""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np

from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series, Values

FACTORS = frozenset("beta lambda lam".split())
TERMS = frozenset(
    "kl kld kldiv divergence consistency cons adv adversarial gan reg penalty aux prior commitment".split()
)
WEIGHTS = frozenset("weight coef coeff coefficient factor scale".split())
UNTOUCHED = frozenset(
    """recon reconstruction rec reconst nll mse bce ce crossentropy likelihood task main supervised sup""".split()
)
MIN_READINGS = 10  # readings
GREW = 2.0  # times its first level: a schedule of a weight does more, a drifting one (learned, adapted) less
STEADY = 0.1  # of its level: how much a share scatters that is a weight and nothing else
PREFIXES = {"train": ("train/", "part/"), "val": ("val/",)}


def rising_weight(run: Run) -> str:
    """What rises: the name of a logged weight, or the part that counts more and more; "" if nothing does."""
    names = tuple(run.vitals)
    for vital in _weights(names):
        if _rose(run.series(vital).finite().values):
            return vital
    kept = untouched_part(run, "train")
    if kept is None:
        return ""
    parts = _parts(names, "train")
    return next((each for each in parts if _counts_more(run.loss.finite(), kept, run.series(each).finite())), "")


def untouched_part(run: Run, split: str) -> Series | None:
    """The part of the loss of a split that no such weight multiplies, as far as names tell."""
    parts = (run.series(each).finite() for each in _parts(tuple(run.vitals), split) if UNTOUCHED & _words(each))
    return next((series for series in parts if len(series) >= MIN_READINGS), None)


@lru_cache(maxsize=8)  # a dozen rules ask about the same names
def _weights(vitals: tuple[str, ...]) -> tuple[str, ...]:
    words = {vital: _words(vital) for vital in vitals}
    return tuple(each for each, of in words.items() if of & FACTORS or (of & TERMS and of & WEIGHTS))


@lru_cache(maxsize=16)
def _parts(vitals: tuple[str, ...], split: str) -> tuple[str, ...]:
    """What may be a part of the loss: neither the total nor a score."""
    mine = [each for each in vitals if each.startswith(PREFIXES[split]) and not each.endswith("/loss")]
    return tuple(each for each in mine if goes_up(each) is not True)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", name.lower()))


def _rose(values: Values) -> bool:
    """By a schedule: it is never below where it began, and ends far above."""
    if len(values) < MIN_READINGS:
        return False
    first, late = float(values[0]), float(np.median(values[-max(1, len(values) // 3) :]))
    return first >= 0 and float(values.min()) >= first and late > GREW * first


def _counts_more(total: Series, kept: Series, other: Series) -> bool:
    """Whether the total is the one part and a growing share of the other: steady at the end, and far less at first."""
    same = len(total) == len(kept) == len(other) >= MIN_READINGS and other.vital != kept.vital
    if not same or not ((total.steps == kept.steps) & (total.steps == other.steps)).all() or other.values.min() <= 0:
        return False
    share = (total.values - kept.values) / other.values
    third = max(1, len(share) // 3)
    level = float(np.median(share[-third:]))
    if level <= 0 or float(np.abs(share[-third:] - level).max()) > STEADY * level:
        return False
    return float(np.median(share[: max(1, third // 3)])) < level / GREW and float(share.min()) > -STEADY * level
