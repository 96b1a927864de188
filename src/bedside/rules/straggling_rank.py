"""One rank waits for its data, and all others wait for that rank.

## What it sees
The time between two steps that each rank spends waiting for its batch.

## Why it matters
Ranks meet in every backward pass, so all of them run at the speed of the slowest. The wait shows only where it arises:
on the other ranks the same time looks like slow gradients.

## How it decides
The median wait of one rank is more than `times` that of the usual rank, and more than `share` of the step.

## When it is wrong
A rank that also writes checkpoints and logs spends time between steps that is not the loader's.

## What to try
1. More workers on that rank: `DataLoader(…, num_workers=…, persistent_workers=True)`.
2. Look at its disk, its network and who else runs on its machine.

## Example
>>> from bedside.testing import a_run
>>> waits = {"0": 0.01, "1": 0.01, "2": 0.4, "3": 0.012}
>>> print(*straggling_rank.check(a_run(loss=1.0, step_time=0.5, rank_data_wait=waits)))
DST103 straggling-rank: Rank 2 waits 0.4 s for its data at every step, 80 % of it, and all others wait for rank 2.

## References
- PyTorch documentation, torch.utils.data: multi-process data loading.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.statistics import how_sure
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import RANK_DATA_WAIT, STEP_TIME
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    times: float = 3.0  # the usual rank's wait: twice happens between equal machines
    share: float = 0.2  # of the step: less would hardly make the run slower
    fewest: int = 20  # readings


@rule("DST103", severity=Severity.WARNING, needs=[RANK_DATA_WAIT.per_owner, STEP_TIME], limits=Limits())
def straggling_rank(run: Run, limits: Limits) -> Iterator[Finding]:
    ranks = [series.finite() for series in run.of(RANK_DATA_WAIT.name) if len(series.finite()) >= limits.fewest]
    if len(ranks) < 2:
        raise NotEnough(f"{limits.fewest} waits for data of two ranks")
    waits = {series.owner: series.median() for series in ranks}
    slowest = max(waits, key=lambda rank: waits[rank])
    usual = float(np.median([wait for rank, wait in waits.items() if rank != slowest]))
    step = run.series(STEP_TIME.name).median()
    if not waits[slowest] > max(limits.times * usual, limits.share * step):
        return
    series = next(each for each in ranks if each.owner == slowest)
    yield straggling_rank.finding(
        f"Rank {slowest} waits {number(waits[slowest])} s for its data at every step, "
        f"{percent(min(1.0, waits[slowest] / step))} of it, and all others wait for rank {slowest}.",
        first_step=series.first_step,
        last_step=series.last_step,
        confidence=how_sure(waits[slowest], limits.times * usual, most=0.9),
        where=[f"rank {slowest}"],
        evidence={"wait": waits[slowest], "usual_wait": usual, "step_time": step},
        series=[STEP_TIME.name],
        could_also_be=("Checkpoints or logs that only this rank writes.",),
        try_=(
            "Give that rank more workers: DataLoader(…, num_workers=…, persistent_workers=True).",
            "Look at its disk, its network and what else runs on its machine.",
        ),
    )
