"""The output of a module keeps growing.

## What it sees
The root mean square of a module's output, against what it was in the first steps.

## Why it matters
Outputs that grow without end saturate what follows them, make attention logits hard, and at last overflow half
precision. The weights behind them are usually on their way already.

## How it decides
The median of the last readings is more than `growth` times that of the first ones, and it is still rising. While the
loss keeps its gains, it is a note.

## When it is wrong
Logits of a classifier that grows sure of its answers: they grow tenfold, not a hundredfold.

## What to try
1. Weight decay on the layer in front, or normalisation behind it.
2. Lower the learning rate.
3. For attention logits: normalise queries and keys (QK-norm); for output logits: a z-loss.

## Example
>>> from bedside.testing import a_run
>>> run = a_run(loss=[2.0] * 50 + [3.0] * 50, activation_rms={"mlp": [1.1**i for i in range(100)]})
>>> print(*growing_activations.check(run))
ACT104 growing-activations: The output of `mlp` has grown 5,313 times larger since the first steps, and still grows.

## References
- Dehghani et al. (2023), Scaling vision transformers to 22 billion parameters: growing attention logits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.losses import meant_to_fall, training_loss
from bedside.analysis.statistics import how_sure, outline
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import ACTIVATION_RMS, LOSS
from bedside.rules.advice import WEIGHT_DECAY, lower_learning_rate
from bedside.rules.base import rule
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    growth: float = 100.0  # logits of nets trained to a loss of zero grew elevenfold
    readings: int = 10  # that make "first" and "last"
    fewest: int = 40  # in all: first and last must be well apart
    kept: float = 0.9  # of what was won: a loss that keeps it is not hurt yet


@rule("ACT104", severity=Severity.WARNING, needs=[ACTIVATION_RMS.per_owner], limits=Limits(), preview_since="0.1")
def growing_activations(run: Run, limits: Limits) -> Iterator[Finding]:
    grown = {s.owner: _growth(s.finite(), limits) for s in run.of(ACTIVATION_RMS.name) if len(s) >= limits.fewest}
    affected = {owner: times for owner, times in grown.items() if times > limits.growth}
    if not affected:
        return
    worst = max(affected, key=lambda owner: affected[owner])
    series = run.series(ACTIVATION_RMS.name, worst).finite()
    level = series.head(limits.readings).median() * limits.growth
    onset = int(series.steps[int((series.values > level).argmax())])
    others = f" (and of {listed(f'`{o}`' for o in affected if o != worst)})" if len(affected) > 1 else ""
    yield growing_activations.finding(
        f"The output of `{worst}`{others} has grown {number(affected[worst])} times larger since the first steps, and "
        "still grows.",
        severity=None if _loss_suffers(run, limits) else Severity.NOTE,
        first_step=onset,
        last_step=series.last_step,
        confidence=how_sure(affected[worst], limits.growth, most=0.9),
        where=list(affected),
        evidence={"growth": affected},
        series=[series.key, LOSS.name],
        try_=(
            Advice("Put weight decay on the layer in front, or a normalisation behind it.", WEIGHT_DECAY, 1),
            lower_learning_rate(run, onset, by=3),
        ),
    )


def _growth(series: Series, limits: Limits) -> float:
    """Last over first, if the last quarter still rose; 0 otherwise."""
    if len(series) < limits.fewest:
        return 0.0
    first, last = series.head(limits.readings).median(), series.median(limits.readings)
    earlier = series.head(len(series) - len(series) // 4).median(limits.readings)
    return last / first if first > 0 and last > 1.2 * earlier else 0.0


def _loss_suffers(run: Run, limits: Limits) -> bool:
    if not meant_to_fall(run):
        return False
    finite = training_loss(run).finite()
    if len(finite) < limits.fewest:
        return False
    curve = outline(finite)
    return curve.start - curve.now < limits.kept * curve.progress
