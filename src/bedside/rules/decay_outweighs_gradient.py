"""Weight decay pulls harder than the loss: an optimizer that adds it to the gradient follows the decay.

## What it sees
An optimizer that adds weight decay to the gradient (Adam, SGD, not AdamW), and a decay times the weights that is
several times the gradient, from the first steps on. Or a sum of absolute weights in the loss (an L1 penalty), whose
gradient is all but the whole gradient.

## Why it matters
Adam divides the sum of both by its size. Where the decay is the larger part, every step goes mostly towards zero, at
the full length of the learning rate, and what the data say is a small correction to it. A value of 0.1, usual for
AdamW, is far too large there.

## How it decides
The weight decay of the settings times the norm of the weights, over the norm of the gradient: in the first tenth of the
readings as in each third of them its median is at least `outweighs`. The gradient of an L1 penalty is its factor times
the root of the number of weights, whatever these are; what the total norm has besides is that of the data.

## When it is wrong
Fine-tuning that begins where the gradient is all but gone.

## What to try
1. AdamW instead of Adam, with the same weight decay.
2. Or a weight decay of 1e-4 and less, and as little of a penalty.

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

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.optimizers import optimizers
from bedside.errors import NotEnough
from bedside.finding import Advice, Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Values
from bedside.record.vocabulary import GRAD_NORM, PARAM_NORM
from bedside.rules.advice import REGULARISATION
from bedside.rules.base import rule
from bedside.wording import count, number

COUPLED = ("adam", "nadam", "radam", "adamax", "rmsprop", "adagrad", "adadelta", "sgd")


@dataclass(frozen=True)
class Limits:
    outweighs: float = 3.0  # times the gradient: of healthy programs the largest is 0.5, of this fault 30
    fewest: int = 20  # readings of the gradient, and of the weights at least two


@rule("UPD108", severity=Severity.WARNING, needs=[GRAD_NORM, PARAM_NORM], limits=Limits(), preview_since="0.1")
def decay_outweighs_gradient(run: Run, limits: Limits) -> Iterator[Finding]:
    if penalised := list(_penalised(run, limits)):
        yield from penalised
        return
    known = optimizers(run)
    gradients, weights = run.series(GRAD_NORM.name).finite(), run.series(PARAM_NORM.name).finite()
    if not known or len(gradients) < limits.fewest or len(weights) < 2:
        raise NotEnough(f"the optimizer's settings, and {limits.fewest} readings of the gradient")
    decay = _added_decay(known[0])
    if len(known) > 1 or decay <= 0:
        return
    pulled = decay * np.interp(gradients.steps, weights.steps, weights.values)
    ratios = pulled / np.maximum(gradients.values, 1e-30)
    if _least(ratios) < limits.outweighs:
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


def _penalised(run: Run, limits: Limits) -> Iterator[Finding]:
    """An L1 penalty in the loss that leaves the data next to nothing of the gradient."""
    gradients = run.series(GRAD_NORM.name).finite()
    events = run.events_of("loss_terms")
    terms = [term for event in events[-1:] for term in event.data["terms"]]
    l1 = [term for term in terms if term.get("of_weights") and term["made_by"] == "Abs"]
    if not l1 or len(l1) == len(terms) or len(gradients) < limits.fewest:
        return
    elements, pull = sum(term["elements"] for term in l1), math.hypot(*map(_pull, l1))
    rest = np.sqrt(np.abs(gradients.values**2 - pull**2))
    ratios = pull / np.maximum(rest, 1e-30)
    if _least(ratios) < limits.outweighs:
        return
    times = float(np.median(ratios))
    yield decay_outweighs_gradient.finding(
        f"The loss adds the absolute values of {count(elements)} weights: their gradient is {number(pull)} at every "
        f"step, {number(times, 2)} times that of the data.",
        first_step=0,
        last_step=gradients.last_step,
        confidence=0.9,
        evidence={"penalty": pull, "ratio": times},
        series=[GRAD_NORM.name, PARAM_NORM.name, "loss"],
        could_also_be=["a network that was trained before, whose gradient is all but gone."],
        try_=[
            Advice(
                f"Lower the factor of the penalty {number(10 * times, 1) if times < 100 else '1,000'}-fold.",
                REGULARISATION,
                -1,
            ),
        ],
    )


def _pull(term: Mapping[str, Any]) -> float:
    """The norm of an L1 term's gradient: that by each weight is as large, and plus or minus."""
    return float(term["per_element"]) * math.sqrt(term["elements"])


def _least(ratios: Values) -> float:
    """The lowest of the medians at the start and in each third."""
    parts = [ratios[: -(-len(ratios) // 10)], *np.array_split(ratios, 3)]
    return min(float(np.median(part)) for part in parts)


def _added_decay(optimizer: Mapping[str, Any]) -> float:
    """The weight decay that is added to the gradient; 0 where it is none, or taken from the weights instead."""
    decay, name = optimizer.get("weight_decay"), str(optimizer.get("name", "")).lower()
    if not isinstance(decay, (int, float)) or optimizer.get("decoupled_weight_decay") or name not in COUPLED:
        return 0.0
    return float(decay)
