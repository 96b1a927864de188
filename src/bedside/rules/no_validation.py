"""Nothing was evaluated on data that the network has not seen.

## What it sees
A run of some length with a training loss and no validation metric at all.

## Why it matters
A falling training loss is what learning and learning by heart have in common. Without held-out data nobody can tell
them apart, bedside included.

## How it decides
At least `fewest` readings of the training loss, and no series of validation or test. Where the model was seen being
evaluated between the steps, `passes` times or more, it is the logging that is missing.

## When it is wrong
Streams of data that never repeat, where the training loss of the next batch is a validation loss.

## What to try
1. Hold out one percent of the data and evaluate it every few hundred steps.
2. `monitor.log(val_loss=...)`, if it is evaluated but not logged.

## Example
>>> from bedside.testing import a_run
>>> print(*no_validation.check(a_run(loss=[2.0 - 0.005 * k for k in range(300)])))
GEN109 no-validation: No validation in 300 steps: overfitting cannot be told from learning.

## References
- Prechelt (1998), Early stopping: but when?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.losses import training_loss_to_fall
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import steps


@dataclass(frozen=True)
class Limits:
    fewest: int = 100  # readings: shorter runs are trials
    passes: int = 2  # evaluations in evaluation mode: a single one may be a look at an example


@rule("GEN109", severity=Severity.NOTE, needs=[], limits=Limits())
def no_validation(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.fewest)
    if any(vital.startswith(("val/", "test/")) for vital in run.vitals):
        return
    unlogged = _unlogged(run, limits)
    missing = f"No validation loss was logged in {steps(run.steps, run.axis)}, though the model was evaluated"
    yield no_validation.finding(
        f"{missing if unlogged else f'No validation in {steps(run.steps, run.axis)}'}: overfitting cannot be told from "
        "learning.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.9,
        evidence={"readings": len(series)},
        series=[series.key],
        could_also_be=[] if unlogged else ["validation that is done but not logged: look at the script's own output."],
        try_=unlogged
        or [
            f"Hold out one percent of the data, and evaluate it every {max(1, run.steps // 20):,} steps.",
            "Log it: monitor.log(val_loss=...).",
        ],
    )


def _unlogged(run: Run, limits: Limits) -> list[str]:
    """What to do where evaluations were seen between the steps, of which no metric was logged."""
    told = run.events_of("evaluations")
    seen = told[-1].data if told else {}
    if not seen.get("in_eval_mode") or seen.get("passes", 0) < limits.passes or seen.get("steps_between", 0) < 2:
        return []
    every = f"every {seen['steps_between']:,.0f} steps"
    return [f"Log the loss of the evaluation that is run {every}: monitor.log(val_loss=...)."]
