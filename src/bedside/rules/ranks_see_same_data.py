"""Several ranks train on the same batches.

## What it sees
Equal batch fingerprints on different ranks at the same step.

## Why it matters
The gradients that are averaged are one and the same, so the other ranks compute nothing new: all of the cost, none of
the speed, and an effective batch that is smaller than it seems. Typical: a loader without a DistributedSampler.

## How it decides
At more than `share` of a rank's steps, another rank had the same fingerprint at the same step, while the batches change
from step to step. Ranks of one tensor-parallel group, which get the same batch on purpose, are not compared.

## When it is wrong
Pipeline parallelism, and tensor parallelism that does not use DTensor, share a batch without our knowing why.

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
from bedside.record.series import Series
from bedside.record.vocabulary import RANK_BATCH_GROUP, RANK_FINGERPRINT
from bedside.rules.base import rule
from bedside.wording import listed


@dataclass(frozen=True)
class Limits:
    share: float = 0.5  # of a rank's steps: by chance it is none
    fewest: int = 10  # batches of a rank


@rule("DST101", severity=Severity.WARNING, needs=[RANK_FINGERPRINT.per_owner], limits=Limits())
def ranks_see_same_data(run: Run, limits: Limits) -> Iterator[Finding]:
    ranks = [series.finite() for series in run.of(RANK_FINGERPRINT.name) if len(series.finite()) >= limits.fewest]
    if len(ranks) < 2:
        raise NotEnough(f"{limits.fewest} batches of two ranks")
    ranks = [series for series in ranks if len(np.unique(series.values)) > 1]  # one batch for ever is another matter
    shared = _shared_steps(run, ranks)
    same = [(each, shared[i]) for i, each in enumerate(ranks) if shared[i] > limits.share * len(each)]
    if len(same) < 2:
        return
    names = [series.owner for series, _ in same]
    series, equal = min(same, key=lambda each: each[1] / len(each[0]))
    yield ranks_see_same_data.finding(
        f"Ranks {listed(names)} had the same batch at {equal} of {len(series)} steps.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=0.85,
        where=[f"rank {name}" for name in names],
        evidence={"same_batches": equal, "common_steps": len(series), "ranks": len(ranks)},
        could_also_be=("Pipeline parallelism, where the ranks of a group share a batch.",),
        try_=(
            "Give each rank its part: DataLoader(…, sampler=DistributedSampler(dataset)).",
            "Call sampler.set_epoch(epoch) at the start of every epoch.",
        ),
    )


def _shared_steps(run: Run, ranks: list[Series]) -> list[int]:
    """For each rank, at how many steps a rank of another batch group had the same fingerprint."""
    if not ranks:
        return []
    group = [run.series(RANK_BATCH_GROUP.name, each.owner) for each in ranks]
    groups = np.repeat([each.last if each else -1.0 - i for i, each in enumerate(group)], [len(r) for r in ranks])
    owners = np.repeat(np.arange(len(ranks)), [len(each) for each in ranks])
    steps = np.concatenate([each.steps for each in ranks])
    marks = np.concatenate([each.values for each in ranks])
    # Equal batches of one step stand side by side; within them groups are sorted, so first and last tell.
    order = np.lexsort((groups, marks, steps))
    steps, marks, groups, owners = steps[order], marks[order], groups[order], owners[order]
    begins = np.flatnonzero(np.r_[True, (np.diff(steps) != 0) | (np.diff(marks) != 0)])
    ends = np.r_[begins[1:], len(steps)]
    several = np.repeat(groups[begins] != groups[ends - 1], ends - begins)
    return [int(each) for each in np.bincount(owners[several], minlength=len(ranks))]
