"""A rank stopped before the others, and took the run with it.

## What it sees
The records of several ranks, of which one ends before the others: closed by an exception of its own, or never closed.

## Why it matters
Ranks meet in every step, so the death of one ends or hangs all of them. The others fail with an error about the
connection, which is what the log shows last; the cause stands in the log of the rank that went first.

## How it decides
In this order: a rank that an exception of its own ended (not one about lost contact, and not the same on all ranks); a
rank whose record was never closed although another one lost contact, or went on for `silent` seconds. Of several, the
one whose last writing is the longest ago. What a rank had not yet written when it died is less than a second of steps.

## When it is wrong
A rank that hangs for longer than `silent` and then goes on. A folder to which the newest records were not copied. It is
silent where the launcher killed all ranks before one of them could notice that another was gone.

## What to try
1. Read the log of that rank, not of rank 0: `torchrun --log-dir logs --redirects 3` keeps one for each.
2. A process that was killed leaves no message: look at `dmesg` for the out-of-memory killer, and at the scheduler.
3. Go on from the last checkpoint with `bedside.watch(…, resume=…)`.

## Example
>>> from bedside.testing import a_run
>>> when = {"0": [1060.0], "1": [1000.0]}
>>> print(*lost_rank.check(a_run(steps=100, rank_last_time=when, rank_finished={"0": [0.5], "1": [-1.0]})))
DST104 lost-rank: Rank 1 was killed: its record ends at step 99, 60 s before that of rank 0, and was never closed.

## References
- PyTorch documentation, torchrun: "on failures or membership changes ALL surviving workers are killed immediately".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import RANK_FINISHED, RANK_LAST_TIME
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import number

OWN_ERROR, LOST_CONTACT, NOT_CLOSED = 0.0, 0.5, -1.0  # as `rank_finished` has them; 1 is a rank that ended by itself


@dataclass(frozen=True)
class Limits:
    silent: float = 60.0  # seconds that others went on alone: a record is written to about every second


class _Rank(NamedTuple):
    name: str
    step: int
    time: float
    ended: float


@rule(
    "DST104",
    severity=Severity.ERROR,
    needs=[RANK_LAST_TIME.per_owner, RANK_FINISHED.per_owner],
    limits=Limits(),
    preview_since="0.1",
)
def lost_rank(run: Run, limits: Limits) -> Iterator[Finding]:
    ranks = list(_ranks(run))
    if len(ranks) < 2:
        raise NotEnough("the records of two ranks")
    lost = _first_to_go(ranks, limits)
    if lost is None:
        return
    others = [each for each in ranks if each is not lost]
    last = max(others, key=lambda each: each.time)
    killed = lost.ended == NOT_CLOSED
    before = max(last.time - lost.time, 0.0)
    yield lost_rank.finding(
        f"Rank {lost.name} was killed: its record ends at {moment(run, lost.step)}, {number(before)} s before that of "
        f"rank {last.name}, and was never closed."
        if killed
        else f"Rank {lost.name} ended with an exception of its own after {moment(run, lost.step)}; "
        f"the record of rank {last.name} ends at {moment(run, last.step)}.",
        first_step=lost.step,
        last_step=max(each.step for each in ranks),
        confidence=0.8 if killed else 0.95,
        where=[f"rank {lost.name}"],
        evidence={"last_step": lost.step, "last_time": lost.time, "seconds_before_the_others": before},
        could_also_be=("A rank that hung: then its process was still there at the end.",) if killed else (),
        try_=(
            f"Read the log of rank {lost.name}, not of rank 0; torchrun --log-dir logs --redirects 3 keeps one each.",
            "Look at dmesg for the out-of-memory killer, and at the scheduler." if killed else "",
            "Go on from the last checkpoint with bedside.watch(…, resume=…).",
        ),
    )


def _ranks(run: Run) -> Iterator[_Rank]:
    ends = {each.owner: each for each in run.of(RANK_FINISHED.name) if each}
    for each in run.of(RANK_LAST_TIME.name):
        if each and each.owner in ends:
            yield _Rank(each.owner, each.last_step, each.last, ends[each.owner].last)


def _first_to_go(ranks: list[_Rank], limits: Limits) -> _Rank | None:
    failed = [each for each in ranks if each.ended == OWN_ERROR]
    if len(failed) == len(ranks):
        return None  # a mistake that all of them met
    if failed:
        return min(failed, key=lambda each: each.time)
    lost_contact = any(each.ended == LOST_CONTACT for each in ranks)
    newest = max(each.time for each in ranks)
    not_closed = [each for each in ranks if each.ended == NOT_CLOSED]
    silent = [each for each in not_closed if lost_contact or newest - each.time > limits.silent]
    return min(silent, key=lambda each: each.time, default=None)
