"""Steps as the rules need them: whole numbers, strictly increasing, one branch.

Real logs repeat steps (two rows for train and validation), write them late (asynchronous loggers), go back and
continue (a resume from a checkpoint), start again in the same file, or never say a step at all. Each repair is
said in a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from bedside.logs.log import Log
from bedside.record.run import Event

Floats = NDArray[np.float64]
Arrays = Mapping[str, tuple[Floats, Floats, Floats]]

LARGEST_STEP = 2.0**53  # above this a float no longer counts by ones; only a broken file has such a step
BRANCH = 3  # records in a row below the highest step so far: fewer are late writes, not a resume


@dataclass
class Straightened:
    """Columns with whole, strictly increasing steps, and what had to be done."""

    columns: dict[str, tuple[NDArray[np.int64], Floats]]
    axis: str
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def straighten(log: Log) -> Straightened:
    """Put the steps of every column of a log right."""
    arrays: Arrays = {name: column.arrays() for name, column in log.columns.items() if len(column)}
    done = Straightened({}, log.axis)
    arrays = {name: _real_steps(*three) for name, three in arrays.items()}
    dropped = sum(len(log.columns[name]) - len(three[0]) for name, three in arrays.items())
    if dropped:
        done.notes.append(f"{dropped} readings without a usable step were left out.")
    arrays = {name: three for name, three in arrays.items() if len(three[0])}
    arrays = _stuck_counter(arrays, done)
    arrays = _whole_numbers(arrays, done)
    restarts = _restarts(arrays)
    if len(restarts) > 0:
        arrays = {name: _last_branch(*three, restarts) for name, three in arrays.items()}
        where = ", ".join(str(int(step)) for _, step in restarts[:3]) + (", …" if len(restarts) > 3 else "")
        done.events += [Event(int(step), "resume") for _, step in restarts]
        first = min(float(three[0][0]) for three in arrays.values() if len(three[0]))
        anew = all(step <= first for _, step in restarts)  # several runs were written into one file
        what = "it was started again" if anew else "the run was resumed"
        done.notes.append(f"The steps go back to {where}: {what}; the last branch was kept.")
    repeated = late = 0
    for name, (steps, values, _order) in arrays.items():
        whole = steps.astype(np.int64)
        if len(whole) > 1 and not (np.diff(whole) > 0).all():
            sort = np.argsort(whole, kind="stable")
            late += int((np.diff(whole) < 0).sum())
            whole, values = whole[sort], values[sort]
            last = np.append(whole[1:] != whole[:-1], True)
            same = np.append((values[1:] == values[:-1]) | np.isnan(values[1:]) & np.isnan(values[:-1]), True)
            repeated += int((~last & ~same).sum())
            whole, values = whole[last], values[last]
        if len(whole):
            done.columns[name] = (whole, values)
    if late:
        done.notes.append(f"{late} readings were written out of order and have been sorted.")
    if repeated:
        done.notes.append(f"{repeated} readings repeat a step with another value; the last one was kept.")
    return done


def _real_steps(steps: Floats, values: Floats, order: Floats) -> tuple[Floats, Floats, Floats]:
    good = np.isfinite(steps) & (steps >= 0) & (steps <= LARGEST_STEP)
    return (steps, values, order) if good.all() else (steps[good], values[good], order[good])


def _stuck_counter(arrays: Arrays, done: Straightened) -> Arrays:
    """Everything logged at one step: the caller forgot to pass it, so the order of writing counts."""
    longest = max((three[0] for three in arrays.values()), key=len, default=np.empty(0))
    if len(longest) < BRANCH or (longest != longest[0]).any():
        return arrays
    if any((three[0] != longest[0]).any() for three in arrays.values()):
        return arrays
    done.notes.append(f"Every reading says step {int(longest[0])}: they were counted in the order written instead.")
    moments = np.unique(np.concatenate([three[2] for three in arrays.values()]))
    return {
        name: (np.searchsorted(moments, order).astype(np.float64), values, order)
        for name, (_, values, order) in arrays.items()
    }


def _whole_numbers(arrays: Arrays, done: Straightened) -> Arrays:
    """Fractional epochs or seconds become the numbers 0, 1, 2, … of their moments."""
    if all((steps == np.floor(steps)).all() for steps, _, _ in arrays.values()):
        return arrays
    steps, _, order = max(arrays.values(), key=lambda three: len(three[0]))
    if (np.diff(steps) >= 0).all() and (np.diff(steps) == 0).any() and (np.diff(order) > 0).all():
        # `epoch: 0.01` for three records in a row: only their order tells them apart.
        done.notes.append(f"The {done.axis} is too coarse to tell records apart: they were numbered as written.")
        done.axis = "step"
        return {
            name: (np.maximum(np.searchsorted(order, when, side="right") - 1.0, 0.0), values, when)
            for name, (_, values, when) in arrays.items()
        }
    moments = np.unique(np.concatenate([steps for steps, _, _ in arrays.values()]))
    done.notes.append(
        f"The {done.axis} is fractional ({moments[0]:g} to {moments[-1]:g}): its {len(moments)} moments were numbered."
    )
    done.axis = "step"
    return {
        name: (np.searchsorted(moments, steps).astype(np.float64), values, order)
        for name, (steps, values, order) in arrays.items()
    }


def _restarts(arrays: Arrays) -> list[tuple[float, float]]:
    """(moment of writing, first step) of every branch, judged by the column that is written most often."""
    if not arrays:
        return []
    steps, _, order = max(arrays.values(), key=lambda three: len(three[0]))
    by_order = np.argsort(order, kind="stable")
    steps, order = steps[by_order], order[by_order]
    moved = np.append(True, steps[1:] != steps[:-1])  # a step may have several readings: batches of an epoch
    steps, order = steps[moved], order[moved]
    highest = np.maximum.accumulate(steps)
    below = np.flatnonzero((steps[1:] < highest[:-1]) & (steps[1:] < steps[:-1])) + 1  # each place it goes back
    found = []
    for at in below:
        after = steps[at : at + BRANCH]
        if len(after) == BRANCH and (after < highest[at - 1]).all() and (np.diff(after) > 0).all():
            found.append((float(order[at]), float(steps[at])))
    return found


def _last_branch(
    steps: Floats, values: Floats, order: Floats, restarts: list[tuple[float, float]]
) -> tuple[Floats, Floats, Floats]:
    moments = np.asarray([moment for moment, _ in restarts])
    firsts = np.asarray([first for _, first in restarts])
    lowest_to_come = np.append(np.minimum.accumulate(firsts[::-1])[::-1], np.inf)
    keep = steps < lowest_to_come[np.searchsorted(moments, order, side="right")]
    return steps[keep], values[keep], order[keep]
