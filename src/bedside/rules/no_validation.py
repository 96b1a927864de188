"""Nothing was evaluated on data that the network has not seen.

## What it sees
A run of some length with a training loss and no validation metric at all.

## Why it matters
A falling training loss is what learning and learning by heart have in common. Without held-out data nobody can tell
them apart, bedside included.

## How it decides
At least `fewest` readings of the training loss, and no series of validation or test.

## When it is wrong
Streams of data that never repeat, where the training loss of the next batch is a validation loss.

## What to try
1. Hold out one percent of the data and evaluate it every few hundred steps.
2. `monitor.log(val_loss=...)`, if it is evaluated but not logged.

## Example
>>> from bedside.testing import a_run
>>> print(*no_validation.check(a_run(loss=[2.0 - 0.005 * k for k in range(300)])))
GEN109 no-validation: No validation in 300 steps: nothing distinguishes overfitting from learning.

## References
- Prechelt (1998), Early stopping: but when?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.losses import training_loss_to_fall
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import steps

# What a watched run notices of evaluations, whether or not their loss was logged.
EVALUATED = ("validation", "evaluation_input", "validation_in_train_mode", "validation_with_gradients")


@dataclass(frozen=True)
class Limits:
    fewest: int = 100  # readings: shorter runs are trials


@rule("GEN109", severity=Severity.NOTE, needs=[], limits=Limits())
def no_validation(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.fewest)
    if any(vital.startswith(("val/", "test/")) for vital in run.vitals):
        return
    seen = [event.step for kind in EVALUATED for event in run.events_of(kind)]
    seen += [run.config["first_evaluation"]] if "first_evaluation" in run.config else []
    yield no_validation.finding(
        f"The model was evaluated at {moment(run, min(seen))}, and its loss was not logged: overfitting cannot be "
        "told from learning."
        if seen
        else f"No validation in {steps(run.steps, run.axis)}: nothing distinguishes overfitting from learning.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.9,
        evidence={"readings": len(series)},
        series=[series.key],
        could_also_be=[] if seen or run.events_of("coverage") else ["validation that is done but not logged."],
        try_=[
            "Log its loss: monitor.log(val_loss=…), beside the evaluation."
            if seen
            else f"Hold out one percent of the data, evaluate it every {max(1, run.steps // 20):,} steps, and log it: "
            "monitor.log(val_loss=…).",
        ],
    )
