"""The loss jumps up whenever a new epoch begins.

## What it sees
A saw: at the beginning of each epoch the training loss is higher than at the end of the one before.

## Why it matters
The order of the data decides the loss. Data that are not shuffled, or shuffled the same way each time, are learned in
their order, and what came first is forgotten when it comes again; or something is reset at the boundary that should not
be (optimizer, scheduler, hidden state).

## How it decides
The median of a tenth of an epoch (at least three readings) before each boundary is compared with that after it. At
least `boundaries` boundaries, `most` of them upwards, with a median jump of `noise` times the error of such a
comparison and of `size` of the progress. The staircase down that fine-tuning shows, where each epoch has been seen
before, is healthy. Where no epochs were counted, evaluations that come every so many steps stand for their ends.

## When it is wrong
A curriculum that is repeated each epoch on purpose (short sequences first).

## What to try
1. `shuffle=True` in the loader; `sampler.set_epoch(epoch)` for a distributed sampler.
2. Build optimizer and scheduler once, before the loop over epochs.

## Example
>>> from bedside.testing import a_run
>>> saw = [2.0 - 0.01 * (k % 50) + 0.01 * (k % 3) - 0.001 * k for k in range(300)]
>>> print(*epoch_boundary_jump.check(a_run(loss=saw, epoch=[k // 50 for k in range(300)])))
LOS108 epoch-boundary-jump: The loss jumps up by 0.435 at 5 of 5 epoch boundaries, first at step 50.

## References
- PyTorch documentation, DistributedSampler: call set_epoch, or every epoch has the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss_to_fall, validation_losses, validation_metrics
from bedside.analysis.statistics import how_sure, outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    boundaries: int = 3  # one or two jumps may be anything
    most: float = 0.8  # of the boundaries: the others may fall together with a fast early descent
    noise: float = 4.0  # standard errors of the difference of two medians
    size: float = 0.1  # of the progress: a tenth shows on a plot
    fewest: int = 3  # readings on either side


@rule("LOS108", severity=Severity.WARNING, needs=[], limits=Limits(), preview_since="0.1")
def epoch_boundary_jump(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, fewest=8 * limits.fewest)
    starts = _boundaries(run)
    if len(starts) < limits.boundaries:
        raise NotEnough(f"{limits.boundaries} epoch boundaries, has {len(starts)}")
    places = np.searchsorted(series.steps, starts)
    length = float(np.median(np.diff(places)))
    width = max(limits.fewest, int(length / 10))
    if length < 2 * limits.fewest:
        raise NotEnough("several readings of the loss per epoch")
    jumps = np.array(
        [
            np.median(series.values[p : p + width]) - np.median(series.values[p - width : p])
            for p in places
            if width <= p <= len(series) - width
        ]
    )
    if len(jumps) < limits.boundaries:
        raise NotEnough(f"{limits.boundaries} epoch boundaries, has {len(jumps)}")
    curve = outline(series)
    jump, up = float(np.median(jumps)), int((jumps > 0).sum())
    error = 1.25 * curve.noise * float(np.sqrt(2 / width))  # of the difference of two medians
    if up < limits.most * len(jumps) or jump < limits.noise * error or jump < limits.size * curve.progress:
        return
    yield epoch_boundary_jump.finding(
        f"The loss jumps up by {number(jump)} at {up} of {len(jumps)} epoch boundaries, first at "
        f"{moment(run, int(starts[0]))}.",
        first_step=int(starts[0]),
        last_step=int(starts[-1]),
        confidence=how_sure(jump, limits.size * curve.progress),
        evidence={"jump": jump, "upwards": up, "boundaries": len(jumps)},
        series=[series.key, "lr"],
        could_also_be=["a curriculum that begins again each epoch, on purpose."],
        try_=[
            "Shuffle: DataLoader(..., shuffle=True), and sampler.set_epoch(epoch) for a distributed sampler.",
            "Build the optimizer and the scheduler once, before the loop over epochs.",
        ],
    )


def _boundaries(run: Run) -> list[int]:
    """First steps of the second and later epochs."""
    counted = run.series("epoch").finite()
    if counted:
        whole = np.floor(counted.values)
        return [int(step) for step in counted.steps[1:][np.diff(whole) > 0]]
    if marked := [event.step for event in run.events_of("epoch") if event.step > 0]:
        return marked
    # A loop that evaluates every so many steps does so once per epoch, mostly; the next step is the first after it.
    for series in validation_losses(run) + validation_metrics(run):
        steps = np.asarray(series.finite().steps)
        if len(steps) > 1 and int(np.diff(steps).min()) == int(np.diff(steps).max()):
            return [int(step) + 1 for step in steps]
    return []
