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
from collections.abc import Sequence

import numpy as np

from bedside.analysis.chance_levels import FAMILIAR, Chance, chance_level, known_chance
from bedside.analysis.how_many_examples import examples_behind
from bedside.record.metric_direction import in_percent
from bedside.record.run import Run
from bedside.record.series import Series

WORDS = frozenset({"accuracy", "acc", "top1"})
NEAR_A_GUESS = 0.03  # of ln K: an untrained head, or one that only knows how frequent the classes are, is off by that
HALF_RIGHT = 0.5  # of the answers
LUCK = 0.25  # of 1/K: accuracies of guesses on a few hundred examples scatter by as much
MIN_LUCK = 0.06  # of all answers: the best of many evaluations of a few hundred examples
LUCKIEST = 2.0  # σ of a share counted on few examples: the best of a dozen evaluations
MAX_CLASSES = 13.0  # ln of them: beyond 400,000 an accuracy cannot tell


def accuracies(run: Run, split: str = "val") -> list[Series]:
    """Held-out accuracies (or those of another `split`), from 0 to 1 whether they were logged so or in percent."""
    found = []
    for series in run.matching(f"{split}/"):
        finite = series.finite()
        if not finite or not is_accuracy(series.vital) or finite.values.min() < 0 or finite.values.max() > 100:
            continue
        scale = 100.0 if in_percent(float(finite.values.max())) else 1.0
        found.append(Series(series.vital, series.owner, finite.steps, np.minimum(finite.values / scale, 1.0)))
    return found


def is_accuracy(vital: str) -> bool:
    """Whether a metric counts right answers."""
    return bool(WORDS & set(re.split(r"[^a-z0-9]+", vital.lower())))


def most_wrong(loss: float) -> float:
    """The largest share of wrong answers that a mean cross-entropy of `loss` leaves room for."""
    return min(1.0, max(0.0, loss) / math.log(2))


def calibrated(accuracy: float, classes: int) -> float:
    """The highest cross-entropy of a classifier that is right this often and as sure as it is right."""
    wrong = min(max(1.0 - accuracy, 1e-9), 1 - 1e-9)
    doubt = -wrong * math.log(wrong) - (1 - wrong) * math.log(1 - wrong)
    return doubt + wrong * math.log(max(classes - 1, 1))


def guessed_classes(accuracies: Sequence[Series], loss: float) -> int:
    """The number of classes K of which these are blind guesses: accuracies of about 1/K beside a loss of about ln K;
    0 if they are no such thing.

    >>> coin = Series("val/accuracy", "", range(6), [0.49, 0.51, 0.5, 0.5, 0.52, 0.5])
    >>> guessed_classes([coin], 0.694), guessed_classes([coin], 0.45)
    (2, 0)
    """
    if not accuracies or not loss > 0:
        return 0
    usual = max(float(np.median(each.values)) for each in accuracies)
    best = max(float(each.values.max()) for each in accuracies)
    classes = round(math.exp(min(loss, MAX_CLASSES)))
    implied = round(1 / usual) if usual > 0 else 0  # by the accuracy: the loss of an untrained head is a little off
    if implied in FAMILIAR and abs(loss - math.log(implied)) <= NEAR_A_GUESS * math.log(implied):
        classes = implied
    if classes < 2 or abs(loss - math.log(classes)) > NEAR_A_GUESS * math.log(classes):
        return 0
    counted_on = max(map(examples_behind, (each.values for each in accuracies)))
    scatter = math.sqrt((1 - 1 / classes) / classes / counted_on) if counted_on else 0.0  # of one such share
    slack = max(LUCK / classes, MIN_LUCK, LUCKIEST * scatter)
    off = max(LUCK / classes, scatter)
    return classes if abs(usual - 1 / classes) <= off and best <= 1 / classes + slack else 0


def guess_level(run: Run, loss: float) -> Chance | None:
    """The level of a blind guess that `loss` sits on: of the run's settings, of its accuracies, or a familiar one."""
    chance = chance_level(run.config, loss)
    if known_chance(run.config) is not None:
        return chance
    classes = guessed_classes(accuracies(run), loss) or guessed_classes(accuracies(run, "train"), loss)
    if classes:
        return Chance(math.log(classes), f"ln {classes:,}", known=False, classes=classes, confirmed=True)
    return chance


def leaves_room(run: Run, loss: float) -> bool:
    """Whether answers with this loss may be wrong more often than right; True as well if no answers are counted."""
    return most_wrong(loss) >= HALF_RIGHT or not accuracies(run)
