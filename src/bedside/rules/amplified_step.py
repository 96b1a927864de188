"""The steps are much longer, or shorter, than learning rate times gradient.

## What it sees
‖update‖ / ‖clipped gradient‖ far from the learning rate, under an optimizer that should keep near it.

## Why it matters
With plain SGD the two are equal, and momentum makes the steps up to 1 / (1 − momentum) times as long. A step that is
far off is made of something else: weight decay that outweighs the gradient, a second optimizer, or a gradient changed
after it was measured.

## How it decides
Only for SGD (Adam and its kin choose the length of a step by themselves): the median ratio is more than `far` times the
learning rate, momentum allowed for, or less than one `far`-th of it. A note, never an alarm.

## When it is wrong
SGD variants under the same name.

## What to try
1. Look at the weight decay: learning rate times decay times weights, against learning rate times gradient.

## Example
>>> from bedside.testing import a_run
>>> sgd = {"optimizers": [{"name": "SGD", "momentum": 0.0}]}
>>> print(*amplified_step.check(a_run(loss=[2.0] * 100, lr=0.1, effective_lr_ratio=4.0, config=sgd)))
UPD105 amplified-step: A step is 4 times as long as its gradient at a learning rate of 0.1: 40 times what SGD should do.

## References
- Sutskever et al. (2013), On the importance of initialization and momentum in deep learning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.analysis.optimizers import optimizers
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import EFFECTIVE_LR, LR, UPDATE_NORM
from bedside.rules.advice import learning_rate
from bedside.rules.base import rule
from bedside.rules.what_was_seen import decay_outweighs_the_gradient
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    far: float = 10.0  # times, momentum allowed for: noise in the gradient accounts for less than three
    readings: int = 50  # a median of 50 is good to a sixth of its spread


@rule("UPD105", severity=Severity.NOTE, needs=[EFFECTIVE_LR, LR], limits=Limits())
def amplified_step(run: Run, limits: Limits) -> Iterator[Finding]:
    known = optimizers(run)
    if len(known) != 1 or str(known[0].get("name", "")).lower() != "sgd":
        raise NotEnough("SGD as the only optimizer")
    ratios = run.series(EFFECTIVE_LR.name).finite()
    if len(ratios) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of effective_lr_ratio, has {len(ratios)}")
    rate = learning_rate(run, ratios.first_step, ratios.last_step)
    momentum = float(known[0].get("momentum", 0.0) or 0.0)
    length = ratios.median()
    if not rate > 0 or not length > 0:
        return
    times = length / rate
    longest = 1 / (1 - min(momentum, 0.999))
    if 1 / limits.far < times < limits.far * longest:
        return
    yield amplified_step.finding(
        f"A step is {number(length, 2)} times as long as its gradient at a learning rate of {number(rate)}: "
        f"{number(times, 2)} times what SGD should do.",
        first_step=ratios.first_step,
        last_step=ratios.last_step,
        confidence=0.8,
        evidence={"ratio": length, "learning_rate": rate, "momentum": momentum, "times": times},
        series=[EFFECTIVE_LR.name, LR.name, UPDATE_NORM.name],
        could_also_be=("Gradients changed between backward() and step() by something other than clipping.",),
        try_=(decay_outweighs_the_gradient(run) if times > 1 else "",),
    )
