"""Replicas that began alike have drifted apart.

## What it sees
The norm of the weights on every rank: equal at first, different later.

## Why it matters
Data-parallel replicas hold the same weights by construction. Once they differ, gradients of different models are
averaged, and what is saved is one of several models that nobody evaluated. Typical: a step taken on one rank only, a
parameter outside the wrapper, a buffer or a random number that was not synchronised.

## How it decides
All ranks agreed to within `agree` before the first step or at their first common reading, and differ by more than
`apart` at the last `last`. Ranks that never agreed hold different parts of one model and are left in peace.

## When it is wrong
Methods that let replicas drift on purpose between two synchronisations (local SGD).

## What to try
1. Wrap the whole model in DistributedDataParallel, and call the wrapper, not `.module`.
2. Take every step on every rank: no `if rank == 0:` around `optimizer.step()` or `backward()`.

## Example
>>> from bedside.testing import a_run
>>> drifting = [5.0 + 0.01 * i for i in range(100)]
>>> print(*ranks_disagree.check(a_run(loss=1.0, rank_param_norm={"0": 5.0, "1": drifting})))
DST102 ranks-disagree: The weights of rank 1 (norm 5.99) have parted from those of rank 0 (norm 5) since step 1.

## References
- PyTorch documentation, DistributedDataParallel: parameters are broadcast once, and then kept equal by equal gradients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import RANK_INITIAL_NORM, RANK_PARAM_NORM
from bedside.rules.advice import moment
from bedside.rules.base import rule
from bedside.wording import number


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
    first = ranks[0]
    for other in ranks[1:]:
        steps, mine, theirs = np.intersect1d(first.steps, other.steps, return_indices=True)
        if len(steps) < limits.fewest:
            continue
        own, its = first.values[mine], other.values[theirs]
        difference = np.abs(own - its) / np.maximum(np.abs(own), 1e-12)
        together = difference[0] <= limits.agree or _began_alike(run, first.owner, other.owner, limits)
        if not together or not (difference[-limits.last :] > limits.apart).all():
            continue
        onset = int(steps[int((difference > limits.agree).argmax())])
        yield ranks_disagree.finding(
            f"The weights of rank {other.owner} (norm {number(its[-1])}) have parted from those of rank {first.owner} "
            f"(norm {number(own[-1])}) since {moment(run, onset)}.",
            first_step=onset,
            last_step=int(steps[-1]),
            confidence=0.95,
            where=[f"rank {first.owner}", f"rank {other.owner}"],
            evidence={"relative_difference": float(difference[-1])},
            could_also_be=("A method that synchronises now and then only (local SGD).",),
            try_=(
                "Wrap the whole model in DistributedDataParallel, and call the wrapper, not its .module.",
                "Take every backward and every step on every rank.",
            ),
        )
        return


def _began_alike(run: Run, one: str, other: str, limits: Limits) -> bool:
    norms = [run.series(RANK_INITIAL_NORM.name, owner).median() for owner in (one, other)]
    return abs(norms[0] - norms[1]) <= limits.agree * abs(norms[0])  # False, if one is not known
