"""Layers follow each other with nothing between them: together they compute what one layer could.

## What it sees
Two layers with weights or more, and on the whole way from the input to the last of them no non-linearity.

## Why it matters
A product of matrices is a matrix: such a network is a linear regression that takes longer. It trains, and it ends at
the error of the best straight line, whatever its depth and width. Typical: activations that were commented out, made
and never called, or replaced by `nn.Identity`.

## How it decides
From the graph of the first predictions: only products with weights, sums, shapes, averages, dropout and batch
normalisation. Networks with a layer that is narrower than what goes in and what comes out are left alone: there the
layers are a factorisation, or a code, on purpose.

## When it is wrong
Studies of deep linear networks, and linear models that are written in two layers on purpose.

## What to try
1. Put `nn.ReLU()` (or GELU, tanh) between the layers.
2. Look whether the activation is called in `forward`, and its result used.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> events = [Event(0, "coverage"), Event(0, "linear_network", {"layers": 3})]
>>> print(*linear_network.check(a_run(loss=1.0, events=events)))
ACT108 linear-network: Nothing but sums and averages lies between the 3 layers: together they are one linear layer.

## References
- Goodfellow, Bengio and Courville (2016), Deep learning, section 6.1: why a hidden layer needs a non-linearity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import LOSS
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    """There is a non-linearity or there is none: nothing to set."""


@rule("ACT108", severity=Severity.WARNING, needs=[], limits=Limits())
def linear_network(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("the graph of the loss (a watched run)")
    for event in run.events_of("linear_network")[:1]:
        layers = int(event.data["layers"])
        yield linear_network.finding(
            f"Nothing but sums and averages lies between the {layers} layers: together they are one linear layer.",
            first_step=0,
            last_step=max(event.step, run.steps - 1),
            confidence=0.93,
            evidence=dict(event.data),
            series=[LOSS.name],
            could_also_be=("A linear model that is written in several layers on purpose.",),
            try_=(
                "Put nn.ReLU() (or GELU, tanh) between the layers.",
                "Look whether the activation is called in forward, and its result used.",
            ),
        )
