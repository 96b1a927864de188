"""Prediction and target have different shapes and are broadcast: the loss compares everything with everything.

## What it sees
A prediction of shape (N, 1) and a target of shape (N,), or the like, whose difference is an (N, N) table.

## Why it matters
Every prediction is compared with the target of every sample, so the best the model can do is to predict the mean for
all of them. The loss falls to the variance of the targets and stays there, and nothing fails.

## How it decides
From the shapes, where loss functions are called and in the first loss's graph: the result is larger than the prediction
and the target.

## When it is wrong
A table of all pairs is wanted, as in some ranking losses.

## What to try
1. `prediction.squeeze(-1)`, or `target.unsqueeze(-1)`, so that both have one shape.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> shapes = {"function": "mse_loss", "prediction": [64, 1], "target": [64], "result": [64, 64]}
>>> print(*broadcast_loss.check(a_run(loss=1.0, events=[Event(0, "coverage"), Event(0, "broadcast_loss", shapes)])))
DAT107 broadcast-loss: The prediction is (64, 1), the target is (64): the loss compares all 64 × 64 pairs.

## References
- NumPy documentation, Broadcasting: shapes are compared from the last dimension.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    """Shapes are equal or they are not: nothing to set."""


@rule("DAT107", severity=Severity.ERROR, needs=[], limits=Limits())
def broadcast_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the shapes of prediction and target (a watched run)")
    for event in run.events_of("broadcast_loss")[:1]:
        data = event.data
        known = data.get("target") is not None
        target = f"the target is {_shape(data['target'])}" if known else "the target has another shape"
        pairs = " × ".join(str(size) for size in data["result"])
        yield broadcast_loss.finding(
            f"The prediction is {_shape(data['prediction'])}, {target}: the loss compares all {pairs} pairs.",
            first_step=event.step,
            last_step=max(event.step, run.steps - 1),
            confidence=0.97 if known else 0.85,
            evidence={"prediction": data["prediction"], "target": data.get("target"), "result": data["result"]},
            could_also_be=("All pairs are wanted, as in some ranking losses.",),
            try_=("Give both one shape: prediction.squeeze(-1), or target.unsqueeze(-1).",),
        )


def _shape(sizes: Sequence[int]) -> str:
    return f"({', '.join(str(size) for size in sizes)})"
