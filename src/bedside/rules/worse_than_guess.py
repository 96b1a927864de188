"""A score is worse than that of a blind guess: the answers are probably reversed.

## What it sees
An area under the curve or a concordance below a half, a correlation below zero, an R² below zero, to the end.

## Why it matters
A network that knows nothing gets the score of a guess. One that gets less knows something and is used the wrong way
round: the sign of a loss, a flag that means the opposite, labels or predictions in reversed order, or a target on
another scale than the one that is scored. The loss may look as it should.

## How it decides
Every evaluation of the last third is on the wrong side of a guess by more than `half` (scores whose guess is a half),
`zero` (correlations, whose guess is 0) or `mean` (R², of which the mean answer gets 0), and the best of the whole run
is not on the right side by as much.

## When it is wrong
Held-out data of so few examples that a guess scatters by more than that.

## What to try
1. Score the negated predictions: if that is as good as this is bad, a sign or a flag is the wrong way round.
2. Compute the metric for the training examples: worse than a guess there too, it is the metric or the loss.

## Example
>>> from bedside.testing import a_run
>>> print(*worse_than_guess.check(a_run(loss=[1.0, 0.8] * 20, val_auc=[0.5, 0.4, 0.3, 0.27, 0.26, 0.25, 0.25, 0.25])))
GEN115 worse-than-guess: val/auc ends at 0.25, where a blind guess has 0.5.

## References
- Fawcett (2006), An introduction to ROC analysis: a classifier below the diagonal has its answers reversed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import validation_metrics
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.base import rule
from bedside.wording import number

HALF = frozenset({"auc", "auroc", "roc", "concordance", "cindex"})
ZERO = frozenset({"pearson", "spearman", "spearmanr", "correlation", "corr", "kappa", "mcc", "matthews"})
MEAN = frozenset({"r2"})


@dataclass(frozen=True)
class Limits:
    fewest: int = 6  # evaluations: two in the last third
    half: float = 0.1  # a guess about 100 examples of either kind scatters by 0.04
    zero: float = 0.2  # a correlation of 100 examples that have none scatters by 0.1
    mean: float = 0.1  # of the variance: held-out targets have another mean, but not by a third of their spread


@rule("GEN115", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def worse_than_guess(run: Run, limits: Limits) -> Iterator[Finding]:
    known = [(each.finite(), *found) for each in validation_metrics(run) if (found := _guess(each.vital, limits))]
    long = [each for each in known if len(each[0]) >= limits.fewest]
    if not long:
        raise NotEnough(f"{limits.fewest} evaluations of a score whose guess is known (auc, correlation, r2)")
    reversed_ = [each for each in long if _reversed(*each)]
    if not reversed_ or len(reversed_) < len(long):  # a score on the right side settles it
        return
    series, guess, _ = reversed_[0]
    last = float(np.median(series.values[-(len(series) // 3) :]))
    yield worse_than_guess.finding(
        f"{series.key} ends at {number(last)}, where a blind guess has {number(guess)}.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.85,
        evidence={"last": last, "guess": guess, "evaluations": len(series)},
        series=[series.key, "val/loss", "loss"],
        could_also_be=("A held-out set so small that a guess scatters as far.",),
        try_=(
            f"Compute {series.key} for the negated predictions: if it is as good as this is bad, a sign or a flag is "
            "the wrong way round.",
            f"Compute {series.key} for a few hundred training examples.",
        ),
    )


def _guess(vital: str, limits: Limits) -> tuple[float, float] | None:
    """What a guess scores on this metric, and how far below it is no chance; None if nobody knows."""
    words = set(re.split(r"[^a-z0-9]+", vital.lower().replace("c_index", "cindex")))
    for kinds, guess, apart in ((MEAN, 0.0, limits.mean), (ZERO, 0.0, limits.zero), (HALF, 0.5, limits.half)):
        if words & kinds:
            return guess, apart
    return None


def _reversed(series: Series, guess: float, apart: float) -> bool:
    last = series.values[-(len(series) // 3) :]
    return bool(last.max() < guess - apart and series.values.max() < guess + apart)
