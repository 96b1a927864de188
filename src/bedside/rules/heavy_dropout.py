"""So many units are dropped in training that hardly any signal is left to learn from.

## What it sees
A dropout module with a very high rate, in a run whose loss has come down little.

## Why it matters
At a rate of 0.9 one unit in ten is left, scaled up tenfold: what reaches the next layer is mostly noise. A rate that
was meant as the share to *keep* is a common slip.

## How it decides
A rate of `rate` or more, and less than `progress` of the loss won in `fewest` readings or more.

## When it is wrong
Very wide layers whose units repeat each other.

## What to try
1. A rate of 0.1 to 0.5; `nn.Dropout(p)` takes the share that is dropped, not the share that is kept.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.3 - 0.001 * k for k in range(200)], config={"dropout": {"head.drop": 0.9}})
>>> print(*heavy_dropout.check(run))
GEN114 heavy-dropout: `head.drop` drops 90 % of the units in training, and little of the loss is won.

## References
- Srivastava et al. (2014), Dropout: rates of 0.2 for inputs and 0.5 for hidden units.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.progress import share_of_loss_won
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS
from bedside.rules.base import rule
from bedside.wording import listed, number, percent


@dataclass(frozen=True)
class Limits:
    rate: float = 0.8  # published recipes stay at 0.7 and below
    progress: float = 0.5  # of the first loss: a run that wins more has signal enough
    fewest: int = 100  # readings of the loss: the first steps of any run have won little


@rule("GEN114", severity=Severity.WARNING, needs=[LOSS], limits=Limits(), preview_since="0.1")
def heavy_dropout(run: Run, limits: Limits) -> Iterator[Finding]:
    rates = run.config.get("dropout")
    known = rates if isinstance(rates, dict) else {}
    heavy = {name: rate for name, rate in known.items() if isinstance(rate, float) and limits.rate <= rate < 1}
    if not heavy:
        return
    series = training_loss_to_fall(run, limits.fewest)
    won = share_of_loss_won(run)
    if not won < limits.progress:
        return
    largest = max(heavy.values())
    verb = "drops" if len(heavy) == 1 else "drop"
    yield heavy_dropout.finding(
        f"{listed(f'`{name}`' for name in heavy)} {verb} {percent(largest)} of the units in training, and little of "
        "the loss is won.",
        first_step=0,
        last_step=series.last_step,
        confidence=0.75,
        where=list(heavy),
        evidence={"rates": heavy, "won": won},
        series=[LOSS.name],
        could_also_be=("Very wide layers whose units repeat each other.",),
        try_=(
            f"Lower the rate from {number(largest)} to 0.5 or less; if {number(largest)} was meant as the share to "
            f"keep, to {number(1 - largest, 1)}.",
        ),
    )
