"""Readings that repeat to the last digit, which real measurements of a changing network do not."""

from __future__ import annotations

import math

import numpy as np

from bedside.record.series import Series, Values

DIGITS = 5  # significant ones: with fewer, equal readings may only be equally rounded
MOST_DECIMALS = 9  # that anybody writes
ALIVE = 1e-3  # of the learning rate's peak: below it a schedule has ended for all purposes


def repeats_at_end(values: Values) -> int:
    """How many of the last readings are exactly equal to the very last; 1 if none is."""
    if not len(values):
        return 0
    different = np.flatnonzero(values != values[-1])
    return len(values) - (int(different[-1]) + 1 if len(different) else 0)


def is_rounded(value: float) -> bool:
    """True if the value was written with so few digits that equality says little: 0.75, 0.6931, 3e-4, 0."""
    return significant_digits(value) < DIGITS


def significant_digits(value: float) -> int:
    """With how many digits the value was written, as far as it tells; at most the seven that a float32 holds.

    >>> significant_digits(0.0005), significant_digits(0.75), significant_digits(1.64893)
    (1, 2, 6)
    """
    return len(f"{abs(value):.6e}".split("e")[0].replace(".", "").rstrip("0"))


def digits_left(values: Values) -> int:
    """With how many digits the last reading is known, if all of them were written with as many decimals.

    >>> digits_left(np.array([1.84, 0.4, 0.03])), digits_left(np.array([0.6931, 0.5]))
    (1, 4)
    """
    last = abs(float(values[-1]))
    decimals = max(len(f"{each:.{MOST_DECIMALS}f}".rstrip("0").partition(".")[2]) for each in np.unique(values))
    return math.floor(math.log10(last)) + 1 + decimals if last > 0 else 0


def still_learning(rates: Series, since: int) -> bool:
    """False if the learning rate was as good as zero since that step, so that nothing can change; True if unknown."""
    finite = rates.finite()
    late = finite.since(since)
    return not late or float(late.values.max()) > ALIVE * float(finite.values.max())
