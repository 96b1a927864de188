"""Dropout is active in evaluation, although the model is in evaluation mode.

## What it sees
A dropout function that is called in an evaluation with a rate above zero and `training=True`.

## Why it matters
Every evaluation is that of another, thinned network: the numbers are noisy and too bad, and two evaluations of one
model differ. `model.eval()` is there, so nobody looks for it.

## How it decides
`F.dropout(x)` drops by default: it does not know the mode of the module that calls it. The calls in the first
evaluation forwards are listened to.

## When it is wrong
Dropout in evaluation on purpose: Monte Carlo dropout for uncertainties, speech and image generation with noise.

## What to try
1. `F.dropout(x, p, training=self.training)`.
2. Or `self.drop = nn.Dropout(p)` in `__init__`, which follows the mode by itself.
3. For attention: `dropout_p=self.p if self.training else 0.0`.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = Event(20, "evaluation_dropout", {"where": ["head"], "function": "dropout", "rate": 0.5})
>>> print(*stochastic_evaluation.check(a_run(loss=1.0, events=[Event(0, "coverage"), seen])))
LOP112 stochastic-evaluation: In evaluation mode, `head` still drops 50 % of its numbers (F.dropout with training=True).

## References
- PyTorch documentation, torch.nn.functional.dropout: `training=True` is the default.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import listed, percent


@dataclass(frozen=True)
class Limits:
    """Something is dropped or it is not: nothing to set."""


@rule("LOP112", severity=Severity.WARNING, needs=[], limits=Limits())
def stochastic_evaluation(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the calls of an evaluation (a watched run)")
    for event in run.events_of("evaluation_dropout")[:1]:
        where = [name for name in event.data["where"] if name]
        who = listed(f"`{name}`" for name in where) if where else "the model"
        function, rate = event.data["function"], event.data["rate"]
        attention = function == "scaled_dot_product_attention"
        yield stochastic_evaluation.finding(
            f"In evaluation mode, {who} still drops {percent(rate)} of its numbers (F.{function} with training=True).",
            first_step=event.step,
            last_step=max(event.step, run.steps - 1),
            confidence=0.95,
            where=where,
            evidence={"function": function, "rate": rate},
            series=["val/loss"],
            could_also_be=("Monte Carlo dropout, on purpose: then average several passes for each number.",),
            try_=(
                f"dropout_p={rate:g} if self.training else 0.0"
                if attention
                else f"F.{function}(x, {rate:g}, training=self.training), or nn.Dropout, which knows its mode.",
            ),
        )
