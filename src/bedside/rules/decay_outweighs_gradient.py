"""Weight decay pulls harder than the loss: an optimizer that adds it to the gradient follows the decay.

## What it sees
An optimizer that adds weight decay to the gradient (Adam, SGD, not AdamW), and a decay times the weights that is
several times the gradient, from the first steps on.

## Why it matters
Adam divides the sum of both by its size. Where the decay is the larger part, every step goes mostly towards zero, at
the full length of the learning rate, and what the data say is a small correction to it. A value of 0.1, usual for
AdamW, is far too large there.

## How it decides
The weight decay of the settings times the norm of the weights, over the norm of the gradient: in the first tenth of the
readings as in each third of them its median is at least `outweighs`.

## When it is wrong
Fine-tuning that begins where the gradient is all but gone.

## What to try
1. AdamW instead of Adam, with the same weight decay.
2. Or a weight decay of 1e-4 and less.

## Example
>>> from bedside.testing import a_run
>>> adam = {"name": "Adam", "weight_decay": 0.1, "decoupled_weight_decay": False}
>>> run = a_run(loss=[1.7] * 60, grad_norm=0.2, param_norm=60.0, config={"optimizers": [adam]})
>>> print(*decay_outweighs_gradient.check(run))
UPD108 decay-outweighs-gradient: Adam adds weight decay to the gradient, and 0.1 times the weights is 30 times as large.

## References
- Loshchilov and Hutter (2019), Decoupled weight decay regularization.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.optimizers import optimizers
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import GRAD_NORM, PARAM_NORM
from bedside.rules.advice import REGULARISATION
from bedside.rules.base import rule
from bedside.wording import number

COUPLED = ("adam", "nadam", "radam", "adamax", "rmsprop", "adagrad", "adadelta", "sgd")


@dataclass(frozen=True)
class Limits:
    outweighs: float = 3.0  # times the gradient: of healthy programs the largest is 0.5, of this fault 30
    fewest: int = 20  # readings of the gradient, and of the weights at least two


@rule("UPD108", severity=Severity.WARNING, needs=[GRAD_NORM, PARAM_NORM], limits=Limits(), preview_since="0.1")
def decay_outweighs_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    known = optimizers(run)
    gradients, weights = run.series(GRAD_NORM.name).finite(), run.series(PARAM_NORM.name).finite()
    if not known or len(gradients) < limits.fewest or len(weights) < 2:
        raise NotEnough(f"the optimizer's settings, and {limits.fewest} readings of the gradient")
    decay = _added_decay(known[0])
    if len(known) > 1 or decay <= 0:
        return
    pulled = decay * np.interp(gradients.steps, weights.steps, weights.values)
    ratios = pulled / np.maximum(gradients.values, 1e-30)
    parts = [ratios[: -(-len(ratios) // 10)], *np.array_split(ratios, 3)]
    if min(float(np.median(part)) for part in parts) < limits.outweighs:
        return
    times, name = float(np.median(ratios)), str(known[0]["name"])
    yield decay_outweighs_gradient.finding(
        f"{name} adds weight decay to the gradient, and {number(decay)} times the weights is {number(times, 2)} times "
        "as large.",
        first_step=0,
        last_step=gradients.last_step,
        confidence=0.85,
        evidence={"weight_decay": decay, "ratio": times},
        series=[GRAD_NORM.name, PARAM_NORM.name, "loss"],
        could_also_be=["a network that was trained before, whose gradient is all but gone."],
        try_=[
            Advice(
                f"Take AdamW with the same weight decay, or lower it to {number(decay / (10 * times), 1)}."
                if name.lower().startswith("adam")
                else f"Lower the weight decay to {number(decay / (10 * times), 1)}.",
                REGULARISATION,
                -1,
            ),
        ],
    )


def _added_decay(optimizer: Mapping[str, Any]) -> float:
    """The weight decay that is added to the gradient; 0 where it is none, or taken from the weights instead."""
    decay, name = optimizer.get("weight_decay"), str(optimizer.get("name", "")).lower()
    if not isinstance(decay, (int, float)) or optimizer.get("decoupled_weight_decay") or name not in COUPLED:
        return 0.0
    return float(decay)
