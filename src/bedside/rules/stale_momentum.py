"""Momentum averages over more steps than the run can spare: each step follows stale gradients.

## What it sees
A momentum, or a first beta of Adam, so close to one that its memory is a good part of the run; often the two betas of
Adam in the wrong order.

## Why it matters
A momentum of m averages over about 1 / (1 - m) steps: ten for 0.9, a thousand for 0.999. While the average still points
where the weights were a thousand steps ago, every step overshoots, and correcting it takes as long again. With the
betas exchanged the length of a step hangs on the last ten gradients besides, so that one odd batch throws the weights
far.

## How it decides
From the optimizer's settings: the momentum is at least `momentum`, and its memory is at least `share` of the steps of
the run, which has `steps` of them. Of Adam's two betas the first is above the second, or its memory is as long.

## When it is wrong
Very long runs of very small steps, where a thousand steps are nothing: these are left alone by the share.

## What to try
1. A momentum of 0.9, or Adam's own betas (0.9, 0.999).

## Example
>>> from bedside.testing import a_run
>>> adam = {"name": "Adam", "betas": [0.999, 0.9]}
>>> print(*stale_momentum.check(a_run(loss=[2.0, 3.0] * 250, config={"optimizers": [adam]})))
UPD107 stale-momentum: Adam averages over about 1,000 steps (betas 0.999 and 0.9, which look exchanged), 2 times all \
500 of this run.

## References
- Goh (2017), Why momentum really works: the time constant of momentum, and when it oscillates.
- Kingma and Ba (2015), Adam: a method for stochastic optimization: section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.analysis.optimizers import optimizers
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import count, number, percent


@dataclass(frozen=True)
class Limits:
    momentum: float = 0.995  # published recipes go up to 0.99: a memory of a hundred steps
    share: float = 0.05  # of the run: below, the average has caught up twenty times over by the end
    steps: int = 100  # of the run: a shorter one is a trial


@rule("UPD107", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def stale_momentum(run: Run, limits: Limits) -> Iterator[Finding]:
    known = [(each, pair) for each in optimizers(run) if (pair := _momentum(each)) is not None]
    if not known or run.axis != "step":
        raise NotEnough("the momentum of the optimizer, and steps")
    if run.steps < limits.steps:
        raise NotEnough(f"{limits.steps} steps, has {run.steps}")
    for optimizer, (momentum, second) in known:
        if not limits.momentum <= momentum < 1 or 1 / (1 - momentum) < limits.share * run.steps:
            continue
        memory, name = 1 / (1 - momentum), str(optimizer.get("name", "The optimizer"))
        exchanged = second is not None and momentum > second
        settings = f"momentum {number(momentum)}"
        if second is not None:
            settings = f"betas {number(momentum)} and {number(second)}"
        if exchanged:
            settings += ", which look exchanged"
        times = memory / run.steps
        part = f"{number(times, 2)} times all {count(run.steps)}" if times >= 1 else f"{percent(times)} of the steps"
        yield stale_momentum.finding(
            f"{name} averages over about {count(round(memory))} steps ({settings}), {part} of this run.",
            first_step=0,
            last_step=max(0, run.steps - 1),
            confidence=0.9 if exchanged else 0.75,
            evidence={"momentum": momentum, "memory": memory, "steps": run.steps},
            series=["loss", "relative_update_norm"],
            could_also_be=("A recipe of a far longer run, whose momentum was kept for a short trial.",),
            try_=("Set betas=(0.9, 0.999)." if second is not None else "Set momentum=0.9.",),
        )
        return


def _momentum(optimizer: Mapping[str, Any]) -> tuple[float, float | None] | None:
    """The momentum, and Adam's second beta where there is one."""
    betas = optimizer.get("betas")
    if isinstance(betas, Sequence) and not isinstance(betas, str) and len(betas) >= 2:
        first, second = betas[:2]
        if isinstance(first, (int, float)) and isinstance(second, (int, float)):
            return float(first), float(second)
    momentum = optimizer.get("momentum")
    return (float(momentum), None) if isinstance(momentum, (int, float)) else None
