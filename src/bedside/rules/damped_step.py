"""Adam's epsilon is far above the gradients, and makes the steps a fraction of the learning rate.

## What it sees
An `eps` many times larger than the root of the second moment that it is added to, from the first steps on.

## Why it matters
Adam divides each gradient by its usual size, so that a step is about as long as the learning rate. With a large epsilon
it divides by epsilon instead: steps become proportional to the gradient and a hundred or a thousand times shorter than
the learning rate says. The run creeps, and raising the learning rate a little helps a little.

## How it decides
In all of the first looks (within a hundred steps, before gradients shrink because the task is learned), epsilon is more
than `factor` times the median root. It is an alarm where the loss has come down by less than `progress` by the end, and
a note where it has: then the learning rate was chosen to suit.

## When it is wrong
Recipes that use a large epsilon on purpose, with a learning rate that suits it (RMSprop in some reinforcement learning
and Inception training).

## What to try
1. `eps=1e-8`, Adam's own.
2. In half precision, 1e-6 or so: 1e-8 is zero in float16.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"optimizer": "Adam", "eps": 1.0, "root": 0.0027}
>>> looks = [Event(step, "optimizer_epsilon", seen) for step in (10, 11, 12)]
>>> print(*damped_step.check(a_run(loss=[2.3, 2.29] * 50, lr=1e-3, events=looks)))
UPD106 damped-step: Adam's eps is 1, and the gradients it is added to are 0.0027: steps are 1/370 of the learning rate.

## References
- Kingma and Ba (2015), Adam: a method for stochastic optimization.
- Choi et al. (2019), On empirical comparisons of optimizers for deep learning: epsilon is a hyper-parameter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median

import numpy as np

from bedside.analysis.losses import training_loss
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    factor: float = 10.0  # above it a step is less than a tenth of the learning rate
    looks: int = 3  # all of them
    progress: float = 0.5  # of the first loss: a run that halved it has a rate that suits
    readings: int = 20  # of the loss, as for any verdict


@rule("UPD106", severity=Severity.WARNING, needs=[], limits=Limits())
def damped_step(run: Run, limits: Limits) -> Iterator[Finding]:
    looks = run.events_of("optimizer_epsilon")
    if len(looks) < limits.looks:
        return
    ratios = [look.data["eps"] / max(look.data["root"], 1e-300) for look in looks]
    if min(ratios) < limits.factor:
        return
    loss = training_loss(run).finite()
    if len(loss) < limits.readings:
        raise NotEnough(f"{limits.readings} readings of the loss, has {len(loss)}")
    edge = max(1, len(loss) // 10)
    first, last = float(np.median(loss.values[:edge])), float(np.median(loss.values[-edge:]))
    learned = last < (1 - limits.progress) * first if first > 0 else True
    ratio, root = float(median(ratios)), float(median(look.data["root"] for look in looks))
    name, epsilon = looks[0].data["optimizer"], looks[0].data["eps"]
    yield damped_step.finding(
        f"{name}'s eps is {number(epsilon)}, and the gradients it is added to are {number(root)}: steps are "
        f"1/{number(ratio)} of the learning rate.",
        severity=Severity.NOTE if learned else None,
        first_step=0,
        last_step=max(0, run.steps - 1),
        confidence=0.9,
        evidence={"eps": epsilon, "root_of_second_moment": root, "ratio": ratio},
        series=["loss", "relative_update_norm", "lr"],
        could_also_be=("A recipe whose learning rate was chosen for this eps.",),
        try_=(
            "Set eps to 1e-8, Adam's own (1e-6 in half precision), and the learning rate to its usual 1e-3 or 3e-4.",
        ),
    )
