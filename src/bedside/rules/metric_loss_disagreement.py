"""The validation loss gets better and the metric gets worse.

## What it sees
Over the same evaluations the validation loss falls and an accuracy falls too (or an error rate rises).

## Why it matters
The two should agree about which checkpoint is better. When they do not, one of them is wrong: the metric is computed
with the wrong sign, averaging or labels, or the loss is not about what the metric measures.

## How it decides
Over the evaluations since the first quarter, both have a trend beyond chance on means of blocks, in opposed directions
of quality, of at least `moved` of the level each; and the ranks of the evaluations are opposed (Kendall's tau beyond
`tau`). The other way round, a loss that rises under an improving metric, is common and harmless for decisions.

## When it is wrong
A loss with several terms, of which the metric sees only one.

## What to try
1. Compute the metric by hand for one batch.
2. Log the terms of the loss one by one.

## Example
>>> from bedside.testing import a_run
>>> loss, accuracy = [1.0 - 0.02 * k for k in range(20)], [0.8 - 0.01 * k for k in range(20)]
>>> print(*metric_loss_disagreement.check(a_run(loss=loss, val_loss=loss, val_accuracy=accuracy)))
GEN110 metric-loss-disagreement: val/loss improved by 37 % since step 5, while val/accuracy got worse by 21 %.

## References
- Huang et al. (2019), Addressing the loss-metric mismatch with adaptive loss alignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import validation_losses, validation_metrics
from bedside.analysis.statistics import how_sure, kendall, trend
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import percent


@dataclass(frozen=True)
class Limits:
    fewest: int = 12  # evaluations: enough for two trends
    skip: float = 0.25  # of the evaluations: early on, metrics may have to fall before they rise
    moved: float = 0.05  # of the level, by each of the two
    tau: float = 0.5  # Kendall's, between the two: most pairs of evaluations are ranked the wrong way round


@rule("GEN110", severity=Severity.WARNING, needs=[], limits=Limits())
def metric_loss_disagreement(run: Run, limits: Limits) -> Iterator[Finding]:
    losses = [series.finite() for series in validation_losses(run) if len(series.finite()) >= limits.fewest]
    metrics = [each.finite() for each in validation_metrics(run) if len(each.finite()) >= limits.fewest]
    if not losses or not metrics:
        raise NotEnough(f"{limits.fewest} evaluations of val/loss and of a metric")
    for loss in losses:
        pairs = [(metric, _disagreement(loss, metric, limits)) for metric in metrics if metric.owner == loss.owner]
        opposed = [(metric, moves) for metric, moves in pairs if moves]
        if not opposed or len(opposed) < len(pairs):  # a metric that agrees settles it
            continue
        metric, (gain, harm, tau) = opposed[0]
        first = int(loss.steps[int(limits.skip * len(loss))])
        yield metric_loss_disagreement.finding(
            f"{loss.key} improved by {percent(gain)} since {moment(run, first)}, while {metric.key} got worse by "
            f"{percent(harm)}.",
            first_step=first,
            last_step=loss.last_step,
            confidence=how_sure(min(gain, harm), limits.moved / 2),
            evidence={"loss_gain": gain, "metric_harm": harm, "tau": tau},
            series=[loss.key, metric.key],
            could_also_be=["a loss of several terms, of which the metric sees one: log them one by one."],
            try_=[
                f"Compute {metric.key} by hand for one batch: sign, averaging and labels.",
                "Log each term of the loss.",
            ],
        )
        return


def _disagreement(loss: Series, metric: Series, limits: Limits) -> tuple[float, float, float] | tuple[()]:
    """What the loss won and the metric lost, as shares of their levels, and tau; nothing if they do not disagree."""
    shared, at, where = np.intersect1d(loss.steps, metric.steps, return_indices=True)
    start = int(limits.skip * len(shared))
    if len(shared) - start < limits.fewest // 2:
        return ()
    sign = -1.0 if goes_up(metric.vital) else 1.0  # as a loss: lower is better
    ours = Series(loss.vital, loss.owner, shared[start:], loss.values[at][start:])
    theirs = Series(metric.vital, metric.owner, shared[start:], sign * metric.values[where][start:])
    falls, rises = trend(ours), trend(theirs)
    if not falls.falling or not rises.rising:
        return ()
    gain = -falls.change / max(abs(float(np.median(ours.values))), 1e-12)
    harm = rises.change / max(abs(float(np.median(theirs.values))), 1e-12)
    tau, _ = kendall(theirs.values[np.argsort(ours.values, kind="stable")])
    return (gain, harm, tau) if min(gain, harm) >= limits.moved and tau <= -limits.tau else ()
