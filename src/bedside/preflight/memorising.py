"""Train on a few examples alone: how much of the way to the lowest possible loss the model gets."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from bedside.errors import NotEnough
from bedside.lab.experiments.overfit_batch import overfit_batch
from bedside.preflight.setup import Setup
from bedside.training.batches import map_tensors, named_tensors, rows_in
from bedside.training.modes import without_dropout
from bedside.wording import capital, number, percent

RATES = (1e-3, 1e-2, 1e-1)  # of Adam, tried in turn
RANDOM = 1e-3  # of the loss: two forwards that differ by more draw random numbers
MIN_EXAMPLES = 2  # examples
TIMED = 4  # steps, of which the quickest counts: the first ones load libraries, and others use the machine too


@dataclass(frozen=True)
class Memorised:
    """How far a few examples could be learned by heart."""

    rows: int
    first: float
    final: float
    floor: float
    left: float  # of the way from the first loss to the floor; 0 is memorised
    verdict: str
    reason: str

    def __str__(self) -> str:
        way = f"{number(self.first)} → {number(self.final)}"
        return f"{self.rows} examples: loss {way}, {percent(1 - self.left)} of the way to {number(self.floor)}"

    @property
    def complaint(self) -> str:
        return (
            f"{self.rows} examples were not memorised: the loss went from {number(self.first)} to "
            f"{number(self.final)}, and {number(self.floor)} was possible."
        )

    @property
    def numbers(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "final": self.final,
            "floor": self.floor,
            "left": self.left,
            "verdict": self.verdict,
        }


def memorise(setup: Setup, batch: Any, rows: int, steps: int, seconds: float) -> Memorised:
    """Train on the first `rows` rows of a batch; raises NotEnough where that could not say anything."""
    if rows_in(batch) < MIN_EXAMPLES:
        raise NotEnough(f"a batch of {MIN_EXAMPLES} examples or more")
    _refuse_random(setup)
    _refuse_slow(setup, steps, seconds)
    setup.rewind()
    found = overfit_batch(
        setup.model,
        [batch],
        setup.training.loss_fn,
        rows=rows,
        steps=steps,
        rates=RATES,
        forward=setup.training.forward,
        progress=False,
    )
    floor = found.floor if math.isfinite(found.floor) else 0.0
    if found.first_loss <= floor or floor < 0:
        raise NotEnough("a loss with a lower end, and above it")
    final = found.final_loss if math.isfinite(found.final_loss) else math.inf
    left = min(1.0, max(0.0, (final - floor) / (found.first_loss - floor)))
    return Memorised(len(found.rows), found.first_loss, final, floor, left, found.verdict, capital(found.reason))


def _refuse_random(setup: Setup) -> None:
    """Two forwards with other random numbers, dropout off."""
    without_dropout(setup.model)
    batch = setup.batch()
    with torch.no_grad():
        one, other = float(setup.loss(batch)), float(setup.loss(batch))
    if abs(one - other) > RANDOM * max(abs(one), abs(other)):
        raise NotEnough("a loss that draws no random numbers of its own")


def _refuse_slow(setup: Setup, steps: int, seconds: float) -> None:
    without_dropout(setup.model)
    times = []
    for _ in range(TIMED):
        began = time.perf_counter()
        setup.loss(setup.batch()).backward()
        times.append(time.perf_counter() - began)
    estimate = min(times) * steps
    if estimate > seconds:
        raise NotEnough(f"about {number(estimate, 2)} s of training on one batch: depth='full', or a smaller model")


def joined(batches: Sequence[Any], rows: int) -> Any:
    """The first batches as one with at least `rows` examples, where their tensors can be joined; else the first."""
    first = batches[0]
    needed = [first]
    for batch in batches[1:]:
        if sum(map(rows_in, needed)) >= rows:
            break
        needed.append(batch)
    columns = [list(named_tensors(each)) for each in needed]
    if len(needed) == 1 or len({tuple(at for at, _ in column) for column in columns}) > 1:
        return first
    parts = [[tensor for _, tensor in places] for places in zip(*columns, strict=True)]
    if any(not each.ndim or each.shape[1:] != tensors[0].shape[1:] for tensors in parts for each in tensors):
        return first
    whole = iter([torch.cat(tensors) for tensors in parts])
    return map_tensors(lambda _: next(whole), first)
