"""Every target lies in the range of the output.

## What it sees
Class labels that are negative or not smaller than the number of outputs; targets outside 0 to 1 for a binary
cross-entropy (one sigmoid for several classes); targets that the last activation cannot reach, such as negative ones
after a ReLU or anything above 1 after a sigmoid.

## Why it matters
A label out of range is an IndexError on the CPU, a device-side assertion without a line number on a GPU. An unreachable
target is not an error at all: the loss stays high, and the output sits at the end of its range with no gradient.

## How it decides
The targets of the first batches against the number of outputs, or against the range of the last operation, read off
the graph, with a margin of `tolerance` of that range (of the targets' spread where the range has no end).

## When it is wrong
Outputs that are clipped on purpose, with targets that are outliers: then a share of `share` is left in peace.

## What to try
1. Labels from 0 to K - 1: subtract one where they begin at one.
2. K outputs and `CrossEntropyLoss` for K classes, instead of one sigmoid.
3. No activation behind the last layer of a regression, or targets scaled into its range.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> print(examined(targets_in_range, y=torch.randint(1, 4, (96,))))
PRE103 targets-in-range: Labels go from 1 to 3, but there are 3 outputs, for the labels 0 to 2.

## References
- PyTorch documentation, CrossEntropyLoss: class indices in the range from 0 to C.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from torch import Tensor

from bedside.collect.vitals.target_range import RANGES, maker_of, operation, targets_in_graph
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.class_labels import labels_of
from bedside.preflight.setup import Setup
from bedside.preflight.torch_calls import OF_CLASSES, REGRESSION, Call
from bedside.wording import number, percent

BINARY = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
Reach = tuple[str, float, float]


@dataclass(frozen=True)
class Limits:
    tolerance: float = 0.02  # of the range: targets that are rounded or smoothed a little
    share: float = 0.01  # of the targets: a few outliers beyond the range are a choice


@check("PRE103", severity=Severity.ERROR, limits=Limits())
def targets_in_range(setup: Setup, limits: Limits) -> Passed | Finding:
    seen = []
    for call in setup.first.calls:
        if call.function in OF_CLASSES and not call.target.is_floating_point():
            found = _labels(setup, call)
            if isinstance(found, Finding):
                return found
            seen.append(found)
        elif (reach := _reach(call)) is not None:
            found = _reached(reach, call.target.detach().float(), call.function, limits)
            if isinstance(found, Finding):
                return found
            seen.append(found)
    for reach, target in _by_hand(setup) if not seen else ():
        found = _reached(reach, target.float(), "", limits)
        if isinstance(found, Finding):
            return found
        seen.append(found)
    if not seen:
        raise NotEnough("class labels, or an output with a range (sigmoid, tanh, ReLU, …)")
    return targets_in_range.passed("; ".join(dict.fromkeys(seen)))


def _labels(setup: Setup, call: Call) -> Finding | str:
    outputs = call.prediction.shape[1 if call.prediction.ndim > 1 else 0]
    real = labels_of(setup, call)
    if not real.numel():
        return "no label that counts in the first batches"
    low, high = int(real.min()), int(real.max())
    if low >= 0 and high < outputs:
        return f"labels {low} to {high}, {outputs} outputs"
    began_at_one = low == 1 and high == outputs
    return targets_in_range.finding(
        f"Labels go from {low} to {high}, but there are {outputs} outputs, for the labels 0 to {outputs - 1}.",
        confidence=0.99,
        evidence={"lowest": low, "highest": high, "outputs": outputs},
        try_=(
            "Subtract one from the labels: they begin at one." if began_at_one else "",
            f"Give the last layer {high + 1} outputs." if high >= outputs else "",
            f"Tell the loss which label to leave out: ignore_index={low}." if low < 0 else "",
        ),
    )


def _reach(call: Call) -> Reach | None:
    if not isinstance(call.target, Tensor) or not call.target.numel() or call.prediction.grad_fn is None:
        return None
    if call.function in BINARY:
        return ("sigmoid", 0.0, 1.0)
    if call.function in REGRESSION and (node := maker_of(call.prediction.grad_fn)) is not None:
        reach: Reach = RANGES[operation(node)]
        return reach
    return None


def _by_hand(setup: Setup) -> Iterator[tuple[Reach, Tensor]]:
    loss = setup.first.loss
    if loss is not None and loss.grad_fn is not None and (found := targets_in_graph(loss.grad_fn)) is not None:
        yield found


def _reached(reach: Reach, target: Tensor, function: str, limits: Limits) -> Finding | str:
    made_by, low, high = reach
    slack = limits.tolerance * ((high - low) if math.isfinite(high) else float(target.std(correction=0)))
    outside = float(((target < low - slack) | (target > high + slack)).double().mean())
    least, most = float(target.min()), float(target.max())
    span = f"{number(low)} to {number(high)}" if math.isfinite(high) else f"{number(low)} and up"
    if outside <= limits.share:
        return f"targets {number(least)} to {number(most)}, {made_by} answers {span}"
    whole = bool((target == target.round()).all()) and least >= 0 and most >= 2
    classes = function in BINARY and whole
    return targets_in_range.finding(
        f"Targets go from {number(least)} to {number(most)}, and {percent(outside)} of them are outside what a "
        f"{made_by} can answer ({span}).",
        confidence=0.95,
        evidence={"lowest": least, "highest": most, "outside": outside, "made_by": made_by},
        try_=(
            f"For {int(most) + 1} classes: {int(most) + 1} outputs and nn.CrossEntropyLoss." if classes else "",
            f"Remove the {made_by} behind the last layer, or scale the targets into {span}." if not classes else "",
        ),
    )
