"""Numbers of one run that lie in the records of several ranks, put together when they are read.

Nothing is exchanged while a run trains. Where parameters are sharded, every rank writes the norm of its own share: the
squares of its shards, each divided by the number of ranks that hold the same shard. The square of the whole is then the
sum over all ranks. A metric that is logged with `reduce=True` is written with the number of samples it is a mean of,
and its mean over all ranks is weighted by them.

>>> shares = [Series("grad_norm", "head", [0, 1], [3.0, 1.0]), Series("grad_norm", "head", [0], [4.0])]
>>> whole = norms_added(shares, lambda steps: np.full(len(steps), 2))
>>> whole.steps.tolist(), whole.values.tolist()
([0], [5.0])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bedside.record.run import Event, Key
from bedside.record.series import Series, Steps, Values
from bedside.record.series_names import name_of

NORMS = frozenset({"grad_norm", "grad_norm_clipped", "param_norm", "update_norm"}) | frozenset(
    {"grad_norm_by_parameter", "param_norm_by_parameter", "update_norm_by_parameter"}
)
COUNTS = frozenset({"nonfinite_grads", "nonfinite_params"})  # a parameter may be bad on several ranks: the largest
RATIOS = {
    "relative_update_norm": ("update_norm", "param_norm"),
    "effective_lr_ratio": ("update_norm", "grad_norm_clipped"),
}
SHARDED = NORMS | COUNTS | frozenset(RATIOS)  # vitals that one rank alone does not know
SAMPLES = "samples"  # the vital under which the weight of a reduced metric is kept; its owner is the metric's name

RanksAt = Callable[[Steps], Values]  # how many ranks the run had at these steps


def weight_of(key: Key) -> Key:
    """Where the number of samples behind a reduced metric is kept."""
    return SAMPLES, name_of(key)


def ranks_at(events: Sequence[Event]) -> RanksAt:
    """The number of ranks by step, from the events with which every start and resume begins."""
    starts = [event for event in events if event.kind == "ranks"]
    firsts = np.asarray([event.step for event in starts], np.int64)
    worlds = np.asarray([float(event.data.get("world_size", 1)) for event in starts] or [1.0])

    def at(steps: Steps) -> Values:
        return worlds[np.maximum(np.searchsorted(firsts, steps, "right") - 1, 0)]

    return at


def norms_added(shares: Sequence[Series], ranks: RanksAt) -> Series:
    """The norm of the whole at the steps for which every rank's share is known."""
    steps, place, known = _together(shares)
    squares = np.bincount(place, np.concatenate([each.values for each in shares]) ** 2, len(steps))
    complete = known == ranks(steps)
    return Series(shares[0].vital, shares[0].owner, steps[complete], np.sqrt(squares[complete]))


def most(counts: Sequence[Series], ranks: RanksAt) -> Series:
    """The largest count of any rank, at the steps for which every rank's is known."""
    steps, place, known = _together(counts)
    largest = np.zeros(len(steps))
    np.maximum.at(largest, place, np.concatenate([each.values for each in counts]))
    complete = known == ranks(steps)
    return Series(counts[0].vital, counts[0].owner, steps[complete], largest[complete])


def ratio(vital: str, above: Series, below: Series) -> Series:
    """Of two norms of the whole; where the lower one is zero there is none."""
    steps, one, other = np.intersect1d(above.steps, below.steps, assume_unique=True, return_indices=True)
    upper, lower = above.values[one], below.values[other]
    there = lower != 0
    return Series(vital, above.owner, steps[there], upper[there] / lower[there])


def mean_over_ranks(means: Sequence[Series], weights: Sequence[Series], passed: Sequence[float]) -> Series:
    """The mean of a metric over the samples of all ranks, at the steps at which each has logged it or never will: it
    has `passed` that step, or ended."""
    values, counts = [], []
    for mean, weight in zip(means, weights, strict=True):
        steps, one, other = np.intersect1d(mean.steps, weight.steps, assume_unique=True, return_indices=True)
        values.append(Series(mean.vital, mean.owner, steps, mean.values[one] * weight.values[other]))
        counts.append(weight.values[other])
    steps, place, _ = _together(values)
    total = np.bincount(place, np.concatenate([each.values for each in values]), len(steps))
    samples = np.bincount(place, np.concatenate(counts), len(steps))
    complete = np.ones(len(steps), bool)
    for each, until in zip(values, passed, strict=True):
        complete &= np.isin(steps, each.steps) | (steps < until)
    return Series(means[0].vital, means[0].owner, steps[complete], total[complete] / samples[complete])


def _together(parts: Sequence[Series]) -> tuple[Steps, Steps, Steps]:
    """All steps, where each reading belongs among them, and how many ranks have one at each."""
    steps, place = np.unique(np.concatenate([each.steps for each in parts]), return_inverse=True)
    return steps, place, np.bincount(place, minlength=len(steps))
