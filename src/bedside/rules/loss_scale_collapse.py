"""The loss scale fell to nothing: the gradients overflow whatever it does.

## What it sees
A gradient scaler whose factor has been halved again and again, down to one or less.

## Why it matters
Every halving is a step that was thrown away. At a scale of one there is no scaling any more, and small gradients are
lost in float16; below one the scaler fights NaN, which no factor cures.

## How it decides
The scale is `floor` or less at the end, and was `fall` times as high before. A scale that comes down from a
first value that was too high and then holds is how scalers work.

## When it is wrong
Scalers with a fixed scale of one, or switched off: those never came down.

## What to try
1. bfloat16 instead of float16: it needs no scaling.
2. Find what overflows or is NaN: the largest activation and the loss itself; keep those in float32.
3. Lower the learning rate, if the scale fell late.

## Example
>>> from bedside.testing import a_run
>>> scale = [65536.0] * 50 + [max(2.0**-8, 65536 / 2 ** (k + 1)) for k in range(50)]
>>> print(*loss_scale_collapse.check(a_run(loss=[2.0] * 100, loss_scale=scale)))
NUM104 loss-scale-collapse: The loss scale fell from 65,536 to 0.00391 between step 50 and step 73: gradients overflow \
at any scale.

## References
- Micikevicius et al. (2018), Mixed precision training.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS, LOSS_SCALE, SKIPPED
from bedside.rules.advice import lower_learning_rate, moment
from bedside.rules.base import rule
from bedside.rules.what_was_seen import largest_activation
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    floor: float = 1.0  # at one there is no scaling left
    fall: float = 2.0**8  # from its highest: eight steps thrown away for nothing
    tail: int = 3  # readings at the end that must all be at the floor


@rule("NUM104", severity=Severity.ERROR, needs=[LOSS_SCALE], limits=Limits())
def loss_scale_collapse(run: Run, limits: Limits) -> Iterator[Finding]:
    scale = run.series(LOSS_SCALE.name).finite()
    if len(scale) < 2 * limits.tail or (scale.values[-limits.tail :] > limits.floor).any():
        return
    top = len(scale) - 1 - int(np.argmax(scale.values[::-1]))  # the last time it was at its highest
    highest = float(scale.values[top])
    if highest < limits.fall * max(scale.last, 1e-30):
        return
    first, last = int(scale.steps[min(top + 1, len(scale) - 1)]), int(scale.steps[int(np.argmin(scale.values))])
    yield loss_scale_collapse.finding(
        f"The loss scale fell from {number(highest)} to {number(scale.last)} between {moment(run, first)} and "
        f"{moment(run, last)}: gradients overflow at any scale.",
        first_step=first,
        last_step=scale.last_step,
        confidence=0.9,
        evidence={"highest": highest, "last": scale.last},
        series=[LOSS_SCALE.name, SKIPPED.name, LOSS.name],
        could_also_be=(
            "NaN in the data or in the loss itself, which no scale cures: check torch.isfinite(loss) first.",
        ),
        try_=(
            "Use torch.bfloat16 in autocast instead of float16, without a scaler.",
            largest_activation(run, first),
            lower_learning_rate(run, first),
        ),
    )
