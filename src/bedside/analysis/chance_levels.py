"""The loss of a model that knows nothing: computed where the classes are known, recognised from the value otherwise.

Cross-entropy of a uniform guess over K classes is ln K; the best constant guess reaches the entropy of the labels;
squared error of the best constant is the variance of the targets, absolute error about their mean absolute deviation.

>>> print(chance_level({"classes": 10}, 2.31))
ln 10 = 2.303
>>> print(chance_level({}, 0.6930))
ln 2 = 0.693
>>> print(chance_level({}, 1.234))
None
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CLASS_KEYS = ("classes", "num_classes", "n_classes", "num_labels", "vocab_size", "padded_vocab_size")
DEVIATION = "the mean absolute deviation of the targets"
VARIANCE = "the variance of the targets"
LEVEL_KEYS = {
    "label_entropy": "the entropy of the labels",
    "target_variance": VARIANCE,
    "target_deviation": DEVIATION,
}
PRECISE = 0.1  # three digits after the point say enough of a level above it
NEAR = 0.02  # of the level, when it is known: an untrained head is off by about that
BESIDE = 0.03  # of the level: what a network that answers the frequencies of the labels is off by
VERY_NEAR = 0.002  # when it is only recognised: any loss is within half a percent of some ln K one time in ten
# Numbers of classes that people train with: small tasks, and the vocabularies of public tokenizers.
FAMILIAR = (2, 3, 4, 5, 8, 10, 20, 100, 256, 1000, 28996, 30522, 32000, 50257, 50304, 50265, 128256, 151936, 256000)


@dataclass(frozen=True)
class Chance:
    """A level that takes no knowledge to reach."""

    level: float
    what: str
    known: bool  # computed from the run's own configuration, not recognised from the value
    classes: int = 0  # 0 for a level that no number of classes stands behind
    confirmed: bool = False  # an accuracy of one over the number of classes says so as well

    def __str__(self) -> str:
        return f"{self.what} = {self.level:.3f}" if self.level >= PRECISE else f"{self.what} = {self.level:.3g}"


def chance_level(config: Mapping[str, Any], value: float) -> Chance | None:
    """The chance level that a loss of `value` sits on, if it sits on one."""
    known = _known_levels(config)
    for chance in known:
        if chance.level > 0 and abs(value - chance.level) <= NEAR * chance.level:
            return chance
    if known or not math.isfinite(value) or value <= 0:
        return None
    classes = min(FAMILIAR, key=lambda k: abs(math.log(k) - value))
    level = math.log(classes)
    if abs(value - level) <= VERY_NEAR * level:
        return Chance(level, f"ln {classes:,}", known=False, classes=classes)
    return None


def known_chance(config: Mapping[str, Any]) -> Chance | None:
    """The chance level that the configuration tells, whatever the loss is."""
    return next(iter(_known_levels(config)), None)


def sits_on_a_guess(config: Mapping[str, Any], value: float, near: float = BESIDE) -> Chance | None:
    """The level of a guess that a loss has come down to and stays on: every known one, that of label frequencies too.

    A loss above the entropy of the labels need not be a guess (weights per class put it there); one beside it is.
    """
    close = [each for each in _known_levels(config) if abs(value - each.level) <= near * each.level]
    return min(close, key=lambda each: abs(value - each.level), default=None)


def _known_levels(config: Mapping[str, Any]) -> list[Chance]:
    levels = []
    plain = {str(key).rsplit(".", 1)[-1]: value for key, value in config.items()}  # model.vocab_size is vocab_size
    for key in CLASS_KEYS:
        classes = plain.get(key)
        if isinstance(classes, (int, float)) and classes >= 2:
            levels.append(Chance(math.log(classes), f"ln {int(classes):,}", known=True, classes=int(classes)))
    for key, what in LEVEL_KEYS.items():
        level = plain.get(key)
        if isinstance(level, (int, float)) and level > 0:
            levels.append(Chance(float(level), what, known=True))
    return levels
