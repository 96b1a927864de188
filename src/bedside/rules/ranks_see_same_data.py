"""Several ranks train on the same batches.

## What it sees
Equal batch fingerprints on different ranks at the same step.

## Why it matters
The gradients that are averaged are one and the same, so the other ranks compute nothing new: all of the cost, none of
the speed, and an effective batch that is smaller than it seems. Typical: a loader without a DistributedSampler.

## How it decides
At more than `share` of the steps that both recorded, two ranks had the same fingerprint, while the batches change from
step to step.

## When it is wrong
Tensor and pipeline parallelism give all ranks of a group the same batch on purpose.

## What to try
1. `DataLoader(…, sampler=DistributedSampler(dataset))`, and `sampler.set_epoch(epoch)` every epoch.
2. Seed the order of the data with the rank in it, for iterable data sets.

## Example
>>> from bedside.testing import a_run
>>> marks = [0.1 * i for i in range(100)]
>>> print(*ranks_see_same_data.check(a_run(loss=1.0, rank_fingerprint={"0": marks, "1": marks})))
DST101 ranks-see-same-data: Ranks 0, 1 had the same batch at 100 of 100 steps.

## References
- PyTorch documentation, torch.utils.data.distributed.DistributedSampler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import RANK_FINGERPRINT
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of the common steps: by chance it is none
    fewest: int = 10  # common steps


@rule("DST101", severity=Severity.WARNING, needs=[RANK_FINGERPRINT.per_owner], limits=Limits())
def ranks_see_same_data(run: Run, limits: Limits) -> Iterator[Finding]:
    ranks = [series.finite() for series in run.of(RANK_FINGERPRINT.name) if len(series.finite()) >= limits.fewest]
    if len(ranks) < 2:
        raise NotEnough(f"{limits.fewest} batches of two ranks")
    first = ranks[0]
    if len(np.unique(first.values)) < 2:
        return  # one batch for ever is another matter
    same: dict[str, tuple[int, int]] = {}
    for other in ranks[1:]:
        _, mine, theirs = np.intersect1d(first.steps, other.steps, return_indices=True)
        equal = int((first.values[mine] == other.values[theirs]).sum())
        if len(mine) >= limits.fewest and equal > limits.share * len(mine):
            same[other.owner] = (equal, len(mine))
    if not same:
        return
    names = [first.owner, *same]
    equal, common = min(same.values())
    yield ranks_see_same_data.finding(
        f"Ranks {', '.join(names)} had the same batch at {equal} of {common} steps.",
        first_step=first.first_step,
        last_step=first.last_step,
        confidence=0.85,
        where=[f"rank {name}" for name in names],
        evidence={"same_batches": equal, "common_steps": common, "ranks": len(ranks)},
        could_also_be=("Tensor or pipeline parallelism, where the ranks of a group share a batch.",),
        try_=(
            "Give each rank its part: DataLoader(…, sampler=DistributedSampler(dataset)).",
            "Call sampler.set_epoch(epoch) at the start of every epoch.",
        ),
    )
