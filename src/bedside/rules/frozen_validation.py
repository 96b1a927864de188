"""The validation returns the same number again and again.

## What it sees
Evaluations that agree to the last digit, while training goes on.

## Why it matters
Two evaluations of a network that changes never agree to the last digit. Either the evaluation does not look at the
network that is trained (a stale checkpoint, a copy on another device, averaged weights that are never updated), or it
looks at the wrong numbers (a cached result), or the network is dead.

## How it decides
The last `same` or more readings are exactly equal, in `val/loss` or in everything that is evaluated. Scores that
count (an accuracy over few samples) and readings written with few digits repeat by chance; where there is nothing
else, they must all repeat `coarse` times, twice as often with two digits, and with one digit it means nothing.
Running bests (`best_…`), perfect and zero scores and the best return that an agent ever had do not count, nor scores
within `solved` of a full one on their own, nor evaluations after the learning rate went to zero, nor those of a run
that has converged: its loss at a thousandth of its start, and its gradient gone.

## When it is wrong
Evaluations repeated on purpose on a finished model.

## What to try
1. Evaluate the network in memory: is it the one that the optimizer steps?
2. Rebuild the evaluation loader and drop any cache of results.
3. Look at the predictions: are they the same for every input?

## Example
>>> from bedside.testing import a_run
>>> val = [2.31417, 1.90331, 1.64893, 1.64893, 1.64893, 1.64893]
>>> print(*frozen_validation.check(a_run(loss=[2.3 - 0.01 * k for k in range(120)], val_loss=val)))
GEN104 frozen-validation: val/loss is exactly 1.65 at each of the last 4 evaluations, since step 59.

## References
- FID and CLIP scores of an aborted MLPerf run, equal to the last digit at all five evaluations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.losses import is_reward
from bedside.analysis.progress import converged
from bedside.analysis.statistics import how_sure, is_rounded, repeats_at_end, significant_digits, still_learning
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import full_score, goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.rules.what_was_seen import outputs_do_not_depend_on_the_input
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    same: int = 3  # equal evaluations: two may be one evaluation logged twice
    solved: float = 0.05  # of a full score missing, or less: the same few hard examples are wrong again and again
    coarse: int = 6  # equal evaluations of a count or a rounded number: late plateaus repeat one two or three times


@rule("GEN104", severity=Severity.WARNING, needs=[], limits=Limits())
def frozen_validation(run: Run, limits: Limits) -> Iterator[Finding]:
    metrics = [series.finite() for series in run.matching("val/") if _is_measured(series)]
    metrics = [series for series in metrics if len(series) >= limits.same]
    if not metrics:
        raise NotEnough(f"{limits.same} evaluations")
    if converged(run):
        return
    fine = [series for series in metrics if not _is_coarse(series)]
    open_scores = [series for series in metrics if not _is_solved(series, limits)]
    judged, needed = (fine, limits.same) if fine else (open_scores, limits.coarse)
    frozen = [series for series in judged if _frozen(run, series, needed)]
    if not frozen or (len(frozen) < len(judged) and all(series.vital != "val/loss" for series in frozen)):
        return
    most = max(frozen, key=lambda series: repeats_at_end(series.values))
    count = repeats_at_end(most.values)
    first = int(most.steps[len(most) - count])
    others = listed(series.key for series in frozen if series is not most)
    yield frozen_validation.finding(
        f"{most.key} is exactly {number(most.last)} at each of the last {count} evaluations, since "
        f"{moment(run, first)}{f'; so is {others}' if others else ''}.",
        first_step=first,
        last_step=most.last_step,
        confidence=how_sure(count * len(frozen), 1.5),
        evidence={"value": most.last, "evaluations": count, "metrics": len(frozen)},
        series=[series.key for series in frozen],
        could_also_be=[
            outputs_do_not_depend_on_the_input(run),
            "an evaluation of a stale checkpoint or of averaged weights that are never updated"
            + _weights_moved(run, first),
        ],
        try_=[
            "Evaluate the network in memory, the one that the optimizer steps.",
            "Rebuild the evaluation loader for each evaluation, and drop any cache of its results.",
        ],
    )


def _is_measured(series: Series) -> bool:
    """Not a running best, which is meant to repeat, nor the most that an agent ever got: it acts as it did."""
    if is_reward(series.vital) and len(series) and series.last == float(series.values.max()):
        return False
    return not re.search(r"(^|[^a-z])(best|max|min)([^a-z]|$)", series.vital.lower())


def _is_coarse(series: Series) -> bool:
    """Equal by chance more often than not: a score that counts, or a number of few digits."""
    counts = goes_up(series.vital) is True and 0 <= series.last <= 100
    return counts or is_rounded(series.last)


def _is_solved(series: Series, limits: Limits) -> bool:
    """A score that counts, near to a full one."""
    full = full_score(series.vital, float(series.values.max())) if goes_up(series.vital) else 0.0
    return series.last >= (1 - limits.solved) * full > 0


def _frozen(run: Run, series: Series, needed: int) -> bool:
    count, digits = repeats_at_end(series.values), significant_digits(series.last)
    if digits == 2:
        needed *= 2
    if count < needed or digits == 1 or series.last in (0.0, 1.0, 100.0):
        return False
    since = series.steps[len(series) - count + 1]  # what was evaluated first was the last thing that was learned
    return still_learning(run.series("lr"), int(since))


def _weights_moved(run: Run, first: int) -> str:
    """What the weights did meanwhile, where it was recorded."""
    moved = run.series("update_norm").finite().since(first)
    return f"; the weights moved all the time (by {number(moved.median(), 2)} per step)." if moved else "."
