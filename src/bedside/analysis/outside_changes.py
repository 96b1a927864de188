"""Weights that were changed by something other than the optimizer's step: a checkpoint, a reset, an edit by hand.

Two signs. The norm of the weights changed by more than the step was long, which no step can do; between readings that
are some steps apart, by more than all of those steps together, each as long as the longest lately. Or the recorded step
itself is many times longer than any before, and the gradient that it should have followed is not: a learning rate that
leapt, or a resume, would explain that, so neither may be near.

>>> from bedside.testing import a_run
>>> norms = {"body": 5.0, "head": [4.0] * 60 + [24.0] * 40}
>>> run = a_run(param_norm=norms, update_norm={"body": 0.01, "head": 0.01}, lr=0.1)
>>> [(each.step, each.owners) for each in outside_changes(run)]
[(60, ('head',))]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bedside.analysis.leaf_modules import leaves
from bedside.analysis.near_task_change import task_changed
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import EFFECTIVE_LR, LR, PARAM_NORM, UPDATE_NORM


@dataclass(frozen=True)
class Limits:
    large: float = 0.1  # of the norm in one step: see oversized-update
    further: float = 2.0  # times the length of the step: rounding and sampling make a few per cent
    apart: int = 500  # steps between two readings: further apart, nobody knows how long they were
    before: int = 20  # readings that show how long steps usually are
    longer: float = 10.0  # times the longest of those
    unlike: float = 3.0  # times the most that a step was ever long for its gradient
    raised: float = 3.0  # times the rate before: see learning-rate-leap


LIMITS = Limits()


@dataclass(frozen=True)
class OutsideChange:
    """The reading that shows it, the leaves in which weights changed, and the first step after the reading before."""

    step: int
    owners: tuple[str, ...]
    since: int


def outside_changes(run: Run, limits: Limits = LIMITS) -> list[OutsideChange]:
    """Every such step, in order."""
    found: dict[int, list[str]] = {}
    run.of(UPDATE_NORM.name)  # all of them at once: one by one each takes as long
    for norms in leaves(run, PARAM_NORM):
        for step in _of_leaf(run, norms.finite(), limits):
            found.setdefault(step, []).append(norms.owner)
    resumes = [event.step for event in run.events_of("resume")]
    changes = [
        OutsideChange(step, tuple(owners), _last_reading(run, owners[0], step) + 1)
        for step, owners in sorted(found.items())
    ]
    return [
        each
        for each in changes
        if not any(each.since - 1 <= resume <= each.step + 1 for resume in resumes)
        and not _rate_leapt(run, each.since, each.step, limits)
        and not any(task_changed(run, step) for step in range(each.since, each.step + 1))
    ]


def _of_leaf(run: Run, norms: Series, limits: Limits) -> list[int]:
    updates = run.series(UPDATE_NORM.name, norms.owner).finite()
    if len(norms) <= limits.before or len(updates) != len(norms) or not (updates.steps == norms.steps).all():
        return []
    values, long = norms.values, updates.values
    change = np.r_[0.0, np.abs(np.diff(values))]
    leaps = (change > limits.large * np.r_[1.0, values[:-1]]) | (long > limits.large * np.maximum(values, 1e-30))
    if not leaps[limits.before :].any():
        return []
    apart = np.r_[0, np.diff(norms.steps)]
    lately = np.asarray([long[max(0, place - limits.before) : place + 1].max() for place in range(len(long))])
    reach = np.where(apart == 1, long, apart * lately)
    near = (apart > 0) & (apart <= limits.apart)
    broken = near & (change > limits.further * reach) & (change > limits.large * np.r_[1.0, values[:-1]])
    places = set(np.flatnonzero(broken[limits.before :]) + limits.before)
    ratios = run.series(EFFECTIVE_LR.name, norms.owner)
    known = {int(step): float(value) for step, value in zip(ratios.steps, ratios.values, strict=True)}
    for place in np.flatnonzero(long > limits.large * np.maximum(values, 1e-30)):
        earlier = long[max(0, place - limits.before) : place]
        if len(earlier) < limits.before or not long[place] > limits.longer * earlier.max():
            continue
        usual = [known[int(s)] for s in norms.steps[place - limits.before : place] if int(s) in known]
        now = known.get(int(norms.steps[place]), np.nan)
        if usual and now > limits.unlike * max(usual):
            places.add(place)
    return [int(norms.steps[place]) for place in sorted(places)]


def _last_reading(run: Run, owner: str, step: int) -> int:
    return int(run.series(PARAM_NORM.name, owner).finite().before(step).last_step)


def _rate_leapt(run: Run, since: int, step: int, limits: Limits) -> bool:
    rates = run.series(LR.name).finite()
    before, now = rates.before(since).tail(1), rates.since(step).head(1)
    return bool(before and now) and now.last > limits.raised * before.last
