"""The first batch goes through model and loss, and the shapes that meet there belong together.

## What it sees
An exception on the way to the first loss; a loss that depends on no parameter; predictions and targets of shapes that
broadcast against each other, (16, 1) against (16,), into a table of everybody with everybody.

## Why it matters
An exception is found after the data set has been loaded and the machine reserved. A broadcast is worse: nothing is
raised, the loss falls to the variance of the targets, and the model answers their mean for every input.

## How it decides
One forward pass in training mode. Loss functions are watched while they are called; for a loss written by hand, the
graph shows a difference of shape (N, N) made from a prediction of shape (N, 1) or (N,).

## When it is wrong
A loss over all pairs on purpose, written as a plain difference.

## What to try
1. Print `output.shape, target.shape` in front of the loss.
2. `output.squeeze(1)` or `target[:, None]`, whichever is meant.

## Example
>>> import torch
>>> from bedside.preflight.example_setup import examined
>>> print(examined(output_fits_target, lambda: torch.nn.Linear(8, 1), y=torch.randn(96), loss_fn=torch.nn.MSELoss()))
PRE101 output-fits-target: mse_loss compares (16, 1) with (16,), which broadcast to (16, 16): everybody with everybody.

## References
- PyTorch documentation, Broadcasting semantics.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bedside.collect.vitals.loss_graph import hidden_broadcast
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import FirstLoss, Setup
from bedside.preflight.torch_calls import ELEMENTWISE
from bedside.training.batches import named_tensors
from bedside.wording import listed, number


@dataclass(frozen=True)
class Limits:
    """Shapes fit or they do not: nothing to set."""


@check("PRE101", severity=Severity.ERROR, limits=Limits())
def output_fits_target(setup: Setup, limits: Limits) -> Passed | Finding:
    first = setup.first
    if first.error is not None:
        where = "The loss" if first.output is not None else "The output"
        return output_fits_target.finding(
            f"{where} of the first batch cannot be computed: {first.complaint}.",
            evidence={"batch": _shapes(first.batch), "output": _shapes(first.output)},
            confidence=0.99,
            could_also_be=("A model that is called in another way: say how with forward=lambda model, batch: ...",),
            try_=(
                f"Compare the shapes: the batch has {_shapes(first.batch)}, the output {_shapes(first.output)}.",
                "Run model and loss on next(iter(train_loader)) by hand, and read the traceback.",
            ),
        )
    if first.loss is not None and not first.loss.requires_grad:
        return output_fits_target.finding(
            "The loss has no gradient: it does not depend on any trainable parameter.",
            confidence=0.99,
            try_=(
                "Look for .detach(), .item(), torch.no_grad() or requires_grad_(False) between the model and the loss.",
            ),
        )
    for message, shapes in _broadcasts(first):
        return output_fits_target.finding(
            message, evidence={"shapes": shapes}, confidence=0.95, try_=(_remedy(shapes[0], shapes[1]),)
        )
    return output_fits_target.passed(
        f"output {_shapes(first.output)}, batch {_shapes(first.batch)}, loss {number(float(first.loss or 0.0))}",
        loss=float(first.loss) if first.loss is not None else math.nan,
    )


def _broadcasts(first: FirstLoss) -> Iterator[tuple[str, list[Sequence[int]]]]:
    for call in first.calls:
        if call.function in ELEMENTWISE and isinstance(call.target, Tensor):
            own, others = tuple(call.prediction.shape), tuple(call.target.shape)
            together = _together(own, others)
            if math.prod(together) > max(math.prod(own), math.prod(others)):
                yield (
                    f"{call.function} compares {own} with {others}, which broadcast to {together}: everybody with "
                    "everybody.",
                    [own, others, together],
                )
    if first.loss is not None and (hidden := hidden_broadcast([first.loss.grad_fn])):
        alone, _, wide = hidden
        yield (
            f"A prediction of shape {tuple(alone)} is part of a difference of shape {tuple(wide)}: everybody is "
            "compared with everybody.",
            [alone, (alone[0],) if len(alone) == 2 else (alone[0], 1), wide],
        )


def _together(own: Sequence[int], others: Sequence[int]) -> tuple[int, ...]:
    try:
        return tuple(torch.broadcast_shapes(tuple(own), tuple(others)))
    except RuntimeError:
        return ()


def _remedy(own: Sequence[int], others: Sequence[int]) -> str:
    if len(own) > len(others):
        return "Give both one shape: loss_fn(output.squeeze(-1), target)."
    return "Give both one shape: loss_fn(output, target.squeeze(-1)), or output[:, None] if a column is meant."


def _shapes(value: object) -> str:
    shapes = [str(tuple(each.shape)) for _, each in named_tensors(value)]
    return listed(shapes, most=4) or f"a {type(value).__name__}"
