"""What a cross-entropy and an accuracy must say about each other, when they are of the same answers.

An answer that is wrong gave the right class a probability of a half at most, so it costs ln 2 at least: a mean loss
bounds the share of wrong answers. In the other direction a classifier that is as sure as it is right loses at most what
Fano's inequality allows for its share of wrong answers.

>>> round(most_wrong(0.07), 2), round(calibrated(0.9, classes=10), 2)
(0.1, 0.54)
"""

from __future__ import annotations

import math
import re

from bedside.record.run import Run
from bedside.record.series import Series

WORDS = frozenset({"accuracy", "acc", "top1"})


def accuracies(run: Run) -> list[Series]:
    """Held-out accuracies, from 0 to 1 whether they were logged so or in percent."""
    found = []
    for series in run.matching("val/"):
        finite = series.finite()
        words = re.split(r"[^a-z0-9]+", series.vital.lower())
        if not finite or not WORDS & set(words) or finite.values.min() < 0 or finite.values.max() > 100:
            continue
        scale = 100.0 if finite.values.max() > 1 else 1.0
        found.append(Series(series.vital, series.owner, finite.steps, finite.values / scale))
    return found


def most_wrong(loss: float) -> float:
    """The largest share of wrong answers that a mean cross-entropy of `loss` leaves room for."""
    return min(1.0, max(0.0, loss) / math.log(2))


def calibrated(accuracy: float, classes: int) -> float:
    """The highest cross-entropy of a classifier that is right this often and as sure as it is right."""
    wrong = min(max(1.0 - accuracy, 1e-9), 1 - 1e-9)
    doubt = -wrong * math.log(wrong) - (1 - wrong) * math.log(1 - wrong)
    return doubt + wrong * math.log(max(classes - 1, 1))


def leaves_room(run: Run, loss: float) -> bool:
    """Whether answers with this loss may be wrong more often than right; True as well if no answers are counted."""
    return most_wrong(loss) >= 0.5 or not accuracies(run)
