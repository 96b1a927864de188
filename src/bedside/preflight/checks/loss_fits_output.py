"""The loss function is given what it takes: scores, probabilities or logarithms.

## What it sees
The operation that made the prediction, in front of a loss function that does not want it: a softmax, sigmoid, tanh or
ReLU before `cross_entropy`, a sigmoid before `binary_cross_entropy_with_logits`, bare scores into
`binary_cross_entropy` or `nll_loss`, a softmax before `kl_div`.

## Why it matters
`cross_entropy` takes a softmax itself; given numbers between 0 and 1 it can never be sure, and the loss flattens far
above zero (1.46 for ten classes). `nll_loss` of bare scores has no lower end. The network learns in spite of it,
slowly, and the curve looks like a hard problem.

## How it decides
The graph of the first prediction; operations that only change the shape are looked through.

## When it is wrong
Scores that are kept in such a range on purpose, and multiplied by no temperature.

## What to try
1. Drop the last activation from the model, and apply it only where probabilities are needed.
2. `log_softmax` before `nll_loss` and `kl_div`; `binary_cross_entropy_with_logits` for bare scores.

## Example
>>> from torch import nn
>>> from bedside.preflight.example_setup import examined
>>> print(examined(loss_fits_output, lambda: nn.Sequential(nn.Linear(8, 3), nn.Softmax(1))))
PRE102 loss-fits-output: cross_entropy takes scores and is given the output of a softmax: the loss cannot fall below \
0.551.

## References
- PyTorch documentation, CrossEntropyLoss: the input is expected to contain the unnormalised logits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from bedside.collect.vitals.loss_inputs import PROBABILITIES, SCORES, maker
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import Setup
from bedside.preflight.torch_calls import Call
from bedside.wording import listed, number

BOUNDED = {"Tanh": "tanh", "Relu": "ReLU"}
UNWANTED = {
    "cross_entropy": PROBABILITIES | BOUNDED,
    "binary_cross_entropy_with_logits": PROBABILITIES | {"Relu": "ReLU"},
    "binary_cross_entropy": SCORES,
    "nll_loss": PROBABILITIES | SCORES,
    "kl_div": PROBABILITIES,
}
TAKES = {
    "cross_entropy": "scores",
    "binary_cross_entropy_with_logits": "scores",
    "binary_cross_entropy": "probabilities",
    "nll_loss": "logarithms of probabilities",
    "kl_div": "logarithms of probabilities",
}


@dataclass(frozen=True)
class Limits:
    """One operation follows another or it does not: nothing to set."""


@check("PRE102", severity=Severity.ERROR, limits=Limits())
def loss_fits_output(setup: Setup, limits: Limits) -> Passed | Finding:
    known = [call for call in setup.first.calls if call.function in UNWANTED and isinstance(call.prediction, Tensor)]
    if not known:
        raise NotEnough("a loss function of torch's own, such as F.cross_entropy")
    for call in known:
        made_by = UNWANTED[call.function].get(maker(call.prediction))
        if made_by:
            return loss_fits_output.finding(
                f"{call.function} takes {TAKES[call.function]} and is given the output of a {made_by}: "
                f"{_meaning(call, made_by)}.",
                evidence={"function": call.function, "made_by": made_by},
                confidence=0.95,
                could_also_be=("Scores that are kept in this range on purpose.",),
                try_=(_remedy(call.function, made_by),),
            )
    said = [f"{call.function} after {_last(call)}" for call in known]
    return loss_fits_output.passed(listed(dict.fromkeys(said)), functions=[call.function for call in known])


def _last(call: Call) -> str:
    name = maker(call.prediction)
    return SCORES.get(name) or PROBABILITIES.get(name) or BOUNDED.get(name) or name or "an unknown operation"


def _meaning(call: Call, made_by: str) -> str:
    classes = call.prediction.shape[1] if call.prediction.ndim > 1 else 0
    if made_by == "ReLU":
        return "scores below zero are cut off, and with them their gradients"
    if call.function == "cross_entropy":
        top = math.e**2 if made_by == "tanh" else math.e
        floor = f" below {number(math.log(top + classes - 1) - math.log(top))}" if classes >= 2 else " far"
        return f"the loss cannot fall{floor}"
    if call.function == "binary_cross_entropy_with_logits":
        return "the loss cannot fall below 0.313 for ones and 0.693 for zeros"
    if call.function == "binary_cross_entropy":
        return "it fails as soon as a score leaves the range from 0 to 1"
    return "the loss has no meaning, and may fall below zero"


def _remedy(function: str, made_by: str) -> str:
    if function == "binary_cross_entropy":
        return "Use nn.BCEWithLogitsLoss, which takes scores and is more exact than a sigmoid before BCELoss."
    if function in ("nll_loss", "kl_div"):
        instead = "cross_entropy" if function == "nll_loss" else "kl_div of log_softmax"
        return f"Give it torch.log_softmax(scores, dim=1), or use F.{instead} on the scores themselves."
    return f"Drop the {made_by} in front of {function}; apply it only where probabilities are needed."
