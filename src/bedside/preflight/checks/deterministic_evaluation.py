"""In evaluation mode, the same input gets the same answer.

## What it sees
Dropout that still drops after `model.eval()`: `F.dropout(x)` without `training=self.training`, attention with a
`dropout_p` that is always on. Other random numbers drawn in evaluation mode are a note.

## Why it matters
Every evaluation is then that of another, mutilated network: worse than the model is, and different each time.

## How it decides
The calls of dropout functions during a forward in evaluation mode; and two forwards, whose answers are compared.

## When it is wrong
Monte Carlo dropout on purpose. Models that sample by design (variational autoencoders, diffusion) get the note.

## What to try
1. `F.dropout(x, p, training=self.training)`, or `nn.Dropout` as a module.
2. `dropout_p=self.p if self.training else 0.0` for `scaled_dot_product_attention`.

## Example
>>> from torch import nn
>>> from torch.nn import functional as F
>>> from bedside.preflight.example_setup import examined
>>> class Always(nn.Linear):
...     def forward(self, x):
...         return super().forward(F.dropout(x, 0.2))
>>> print(examined(deterministic_evaluation, Always(8, 3)))
PRE405 deterministic-evaluation: dropout with a rate of 0.2 drops in evaluation mode.

## References
- PyTorch documentation, torch.nn.functional.dropout: training is True by default.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import LOSS, Setup
from bedside.preflight.torch_calls import DROPOUTS, RANDOM, Call, FunctionCalls
from bedside.training.batches import named_tensors
from bedside.wording import listed, number

ATTENTION = {F.scaled_dot_product_attention: "scaled_dot_product_attention"}


@dataclass(frozen=True)
class Limits:
    rounding: float = 1e-4  # of the largest answer: what kernels in another order make of it


@check("PRE405", severity=Severity.WARNING, limits=Limits(), needs=[LOSS])
def deterministic_evaluation(setup: Setup, limits: Limits) -> Passed | Finding:
    setup.model.eval()
    batch = setup.batch()
    with torch.no_grad(), FunctionCalls({**DROPOUTS, **RANDOM, **ATTENTION}) as mode:
        one = setup.loss.output(batch)
    with torch.no_grad():
        other = setup.loss.output(setup.batch())
    dropping = [each for each in mode.calls if _rate(each) > 0]
    if dropping:
        return deterministic_evaluation.finding(
            f"{dropping[0].function} with a rate of {number(_rate(dropping[0]))} drops in evaluation mode.",
            confidence=0.95,
            evidence={"functions": sorted({each.function for each in dropping}), "calls": len(dropping)},
            could_also_be=("Monte Carlo dropout on purpose.",),
            try_=("F.dropout(x, p, training=self.training), or nn.Dropout; dropout_p=0.0 where not self.training.",),
        )
    change = _change(one, other)
    drawn = sorted({each.function for each in mode.calls if each.function in RANDOM.values()})
    if change <= limits.rounding:
        return deterministic_evaluation.passed("the same answers twice in evaluation mode", change=change)
    return deterministic_evaluation.finding(
        f"Two forwards of one batch in evaluation mode differ by {number(change)} of the largest answer"
        + (f": {listed(drawn)} draws random numbers." if drawn else "."),
        severity=Severity.NOTE,
        confidence=0.7,
        evidence={"change": change, "drawn_by": drawn},
        could_also_be=("A model that samples by design.",),
        try_=("Draw random numbers only where self.training, unless the model samples by design.",),
    )


def _rate(call: Call) -> float:
    given = call.arguments
    if call.function in ATTENTION.values():
        rate = given.get("dropout_p", given.get("4", 0.0))
        return float(rate) if isinstance(rate, int | float) else 0.0
    if call.function not in DROPOUTS.values():
        return 0.0
    drops = given.get("training", True)
    rate = given.get("p", 0.5)
    return float(rate) if drops and isinstance(rate, int | float) else 0.0


def _change(one: Any, other: Any) -> float:
    """The largest change of any answer, as a share of the largest answer of its tensor."""
    again = dict(named_tensors(other))
    changes = [0.0]
    for at, tensor in named_tensors(one):
        twin = again.get(at)
        if isinstance(twin, Tensor) and tensor.is_floating_point() and tensor.shape == twin.shape and tensor.numel():
            size = float(tensor.abs().max()) or 1.0
            changes.append(float((tensor - twin).abs().max()) / size)
    return max(changes)
