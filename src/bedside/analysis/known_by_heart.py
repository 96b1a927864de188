"""Accuracies alone that say it: training answers are known by heart, and a good part of the held-out ones is wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    fewest: int = 6  # readings of both
    slips: float = 0.05  # of the training answers, at most: what is left when a network has learned them by heart
    mistakes: float = 1 / 3  # of the held-out answers, at least: seven times as many
    learned: float = 0.25  # of the training answers, since the first reading: it was not known before
    gained: float = 0.02  # of the held-out answers, since halfway: more, and it still learns something


@dataclass(frozen=True)
class KnownByHeart:
    training: Series
    held_out: Series
    halfway: int  # the step since which held-out answers got no better

    def __str__(self) -> str:
        now = number(float(np.median(self.held_out.values[-len(self.held_out) // 3 :])))
        return (
            f"{self.training.key} went from {number(float(self.training.values[0]))} to {number(self.training.last)}, "
            f"and {self.held_out.key} is {now}, no better than halfway through the run: what was learned since is the "
            "training data by heart."
        )


def known_by_heart(run: Run, limits: Limits | None = None) -> KnownByHeart | None:
    """The first held-out accuracy of which that is so."""
    limits = limits or Limits()
    trained = {each.vital.partition("/")[2]: each for each in accuracies(run, "train")}
    for held_out in accuracies(run):
        same = trained.get(held_out.vital.partition("/")[2])
        if same is None or min(len(same), len(held_out)) < limits.fewest:
            continue
        third, half = len(held_out) // 3, len(held_out) // 2
        known, now = float(np.median(same.values[-third:])), float(np.median(held_out.values[-third:]))
        gained = now - float(np.median(held_out.values[half - third // 2 : half + 1]))
        memorised = known >= 1 - limits.slips and float(same.values[0]) <= known - limits.learned
        if memorised and now <= 1 - limits.mistakes and gained <= limits.gained:
            return KnownByHeart(same, held_out, int(held_out.steps[half]))
    return None
