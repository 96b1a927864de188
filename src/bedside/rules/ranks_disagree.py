"""Replicas that began alike have drifted apart.

## What it sees
The norm of the weights on every rank: equal at first, different later.

## Why it matters
Data-parallel replicas hold the same weights by construction. Once they differ, gradients of different models are
averaged, and what is saved is one of several models that nobody evaluated. Typical: a step taken on one rank only, a
parameter outside the wrapper, a buffer or a random number that was not synchronised.

## How it decides
Ranks are compared with the one whose norm is the median of all. Two that agreed to within `agree` before the first step
or at their first common reading differ by more than `apart` at the last `last`. Ranks that never agreed hold different
parts of one model and are left alone; so are those of a sharded model.

## When it is wrong
Methods that let replicas drift on purpose between two synchronisations (local SGD).

## What to try
1. Wrap the whole model in DistributedDataParallel, and call the wrapper, not `.module`.
2. Take every step on every rank: no `if rank == 0:` around `optimizer.step()` or `backward()`.

## Example
>>> from bedside.testing import a_run
>>> drifting = [5.0 + 0.01 * i for i in range(100)]
>>> print(*ranks_disagree.check(a_run(loss=1.0, rank_param_norm={"0": 5.0, "1": drifting})))
DST102 ranks-disagree: The weights of rank 1 (norm 5.99) differ from those of rank 0 (norm 5) since step 1.

## References
- PyTorch documentation, DistributedDataParallel: parameters are broadcast once, and then kept equal by equal gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import RANK_INITIAL_NORM, RANK_PARAM_NORM
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import number, plural


@dataclass(frozen=True)
class Limits:
    agree: float = 1e-6  # relative: the norm is computed exactly enough for replicas to be equal to this
    apart: float = 1e-4  # relative: far beyond the order in which ranks add up
    last: int = 5  # readings that must all differ
    fewest: int = 10  # common readings


@rule("DST102", severity=Severity.ERROR, needs=[RANK_PARAM_NORM.per_owner], limits=Limits())
def ranks_disagree(run: Run, limits: Limits) -> Iterator[Finding]:
    ranks = [series.finite() for series in run.of(RANK_PARAM_NORM.name) if len(series.finite()) >= limits.fewest]
    if len(ranks) < 2:
        raise NotEnough(f"{limits.fewest} readings of the weights' norm on two ranks")
    first = _median_rank(ranks)
    apart = [found for other in ranks if other is not first and (found := _parted(run, first, other, limits))]
    if not apart:
        return
    odd = min(apart, key=lambda each: each.onset)
    more = f" So have those of {plural(len(apart) - 1, 'more rank')}." if len(apart) > 1 else ""
    yield ranks_disagree.finding(
        f"The weights of rank {odd.rank} (norm {number(odd.norm)}) differ from those of rank {first.owner} "
        f"(norm {number(odd.usual)}) since {moment(run, odd.onset)}.{more}",
        first_step=odd.onset,
        last_step=odd.last_step,
        confidence=0.95,
        where=sorted([f"rank {first.owner}", *(f"rank {each.rank}" for each in apart)]),
        evidence={"relative_difference": odd.difference, "ranks_apart": len(apart)},
        could_also_be=("A method that synchronises now and then only (local SGD).",),
        try_=(
            "Wrap the whole model in DistributedDataParallel, and call the wrapper, not its .module.",
            "Take every backward and every step on every rank.",
        ),
    )


class _Parted(NamedTuple):
    rank: str
    onset: int
    last_step: int
    norm: float
    usual: float
    difference: float


def _median_rank(ranks: list[Series]) -> Series:
    """The rank to compare with: if one of many has drifted, it is not this one."""
    middle = np.median([each.last for each in ranks])
    return min(ranks, key=lambda each: abs(each.last - middle))


def _parted(run: Run, first: Series, other: Series, limits: Limits) -> _Parted | None:
    steps, mine, theirs = np.intersect1d(first.steps, other.steps, return_indices=True)
    if len(steps) < limits.fewest:
        return None
    own, its = first.values[mine], other.values[theirs]
    difference = np.abs(own - its) / np.maximum(np.abs(own), 1e-12)
    together = difference[0] <= limits.agree or _began_alike(run, first.owner, other.owner, limits)
    if not together or not (difference[-limits.last :] > limits.apart).all():
        return None
    onset = int(steps[int((difference > limits.agree).argmax())])
    return _Parted(other.owner, onset, int(steps[-1]), float(its[-1]), float(own[-1]), float(difference[-1]))


def _began_alike(run: Run, one: str, other: str, limits: Limits) -> bool:
    norms = [run.series(RANK_INITIAL_NORM.name, owner).median() for owner in (one, other)]
    return abs(norms[0] - norms[1]) <= limits.agree * abs(norms[0])  # False, if one is not known
