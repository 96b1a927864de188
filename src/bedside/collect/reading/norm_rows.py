"""From squares per parameter to the rows of the record: norms of gradients, weights and updates, overall and per owner.

Squares come from steps, one step each, or from consecutive fast-path steps; either way as tables of steps by
parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.step.clipping import Clip
from bedside.collect.step.common_rows import Rows, StepBatch
from bedside.collect.step.step_data import Members, StepData
from bedside.record.missing import MISSING, is_missing
from bedside.record.run import Key

GRADIENTS = [("grad_norm", ""), ("grad_norm_clipped", ""), ("nonfinite_grads", "")]
MOVES = [
    (vital, "")
    for vital in ("param_norm", "update_norm", "relative_update_norm", "effective_lr_ratio", "nonfinite_params")
]
OWNED_GRADIENTS = ("grad_norm", "grad_norm_clipped")
BY_PARAMETER = ("grad_norm_by_parameter", "param_norm_by_parameter", "update_norm_by_parameter")
OWNED_MOVES = ("param_norm", "update_norm", "relative_update_norm", "effective_lr_ratio")


@dataclass(frozen=True, slots=True)
class Read:
    """Squared norms at some steps, (steps, parameters)."""

    layout: Layout
    steps: list[int]
    times: list[float]
    gradients: Rows  # as the optimizer saw them
    present: NDArray[np.bool_]
    clips: Sequence[Clip | None]
    moved: Sequence[int]  # the rows at which updates were read,
    updates: Rows  # and what was read there
    weights: Rows
    unclipped: Rows | None = None  # gradients that were read before clipping, NaN where they were not
    looked_at: NDArray[np.bool_] | None = None  # whose gradients were read; None: everybody's
    stepped: NDArray[np.bool_] | None = None  # whose updates were read, at the rows of `moved`; None: everybody's

    def before_clipping(self) -> Rows:
        """The squares of the gradients before they were clipped."""
        if not any(self.clips):
            return self.gradients
        count = len(self.layout)
        factors = np.asarray([np.ones(count) if clip is None else clip.factors(count) for clip in self.clips])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            before = np.where(factors == 1.0, self.gradients, self.gradients / factors**2)
        return before if self.unclipped is None else np.where(np.isnan(self.unclipped), before, self.unclipped)


def of_steps(steps_data: Sequence[tuple[StepData, Clip | None]]) -> Read:
    """All of one layout."""
    layout = steps_data[0][0].layout
    gradients = np.zeros((len(steps_data), len(layout)))
    present = np.zeros((len(steps_data), len(layout)), bool)
    moved = [row for row, (data, _) in enumerate(steps_data) if data.moves]
    updates, weights = np.zeros((len(moved), len(layout))), np.zeros((len(moved), len(layout)))
    unclipped = np.full_like(gradients, np.nan)
    looked_at, stepped = np.zeros(gradients.shape, bool), np.zeros(updates.shape, bool)
    for row, (data, clip) in enumerate(steps_data):
        for part in data.gradients:
            squares = part.squares.numbers
            if part.scale is not None:
                squares = squares / part.scale.number**2
            here = np.ones(len(squares), bool)
            here[list(part.absent)] = False
            if part.unclipped and clip is not None:
                unclipped[row] = squares
                squares = squares * clip.factors(len(squares)) ** 2
            _put(gradients[row], part.members, squares)
            _put(present[row], part.members, here)
            _put(looked_at[row], part.members, np.ones(len(squares), bool))
        for read in data.unclipped if clip is not None else ():
            if not data.clips or read.threshold is not None:  # by value first, and what was left by norm
                _put(unclipped[row], read.members, read.squares.numbers)
    for place, row in enumerate(moved):
        for move in steps_data[row][0].moves:
            _put(updates[place], move.members, move.updates.numbers)
            _put(weights[place], move.members, move.weights.numbers)
            _put(stepped[place], move.members, np.ones(len(move.updates.numbers), bool))
    steps, times = [data.step for data, _ in steps_data], [data.time for data, _ in steps_data]
    gradients, updates, weights, unclipped = map(layout.of_this_rank, (gradients, updates, weights, unclipped))
    clips = [clip for _, clip in steps_data]
    return Read(
        layout,
        steps,
        times,
        gradients,
        present,
        clips,
        moved,
        updates,
        weights,
        unclipped=None if np.isnan(unclipped).all() else unclipped,
        looked_at=None if looked_at.all() else looked_at,
        stepped=None if stepped.all() else stepped,
    )


def of_batch(batch: StepBatch, layout: Layout) -> Read:
    """Of a stretch in which they were read."""
    count, width = len(batch.block), len(layout)
    present = np.ones((count, width), bool)
    for row, reading in zip(present, batch.block.readings, strict=True):
        if reading.absent:
            row[list(reading.absent)] = False
    squares = (pending.numbers.reshape(-1, width) for pending in batch.squares)
    gradients, updates, weights = map(layout.of_this_rank, squares)
    moved = range(len(updates))
    return Read(layout, batch.steps, batch.times, gradients, present, batch.clips, moved, updates, weights)


def overall_gradients(before: Rows, after: Rows, clips: Sequence[Clip | None], ranks: int = 1) -> Rows:
    """Of the whole model, in the order of GRADIENTS; the share of one rank where several hold the parameters."""
    rows = np.empty((len(after), 3))
    rows[:, 0] = np.sqrt(before.sum(axis=1))
    rows[:, 1] = np.sqrt(after.sum(axis=1))
    rows[:, 2] = (~np.isfinite(after) & ~is_missing(after)).sum(axis=1)
    for row, clip in zip(rows, clips, strict=True):
        if clip is not None and not np.isfinite(row[0]):
            row[0] = clip.total / np.sqrt(ranks)  # clipping turned an infinity into NaN; the call knew which it was
    return rows


def owned_gradients(layout: Layout, before: Rows, after: Rows, present: NDArray[np.bool_]) -> Rows:
    """Per owner, in the order of OWNED_GRADIENTS."""
    owned_after = layout.add_up(after)
    owned = np.concatenate([owned_after if before is after else layout.add_up(before), owned_after], axis=1)
    if not present.all():
        nobody = layout.add_up(present.astype(np.float64)) == 0
        owned[np.concatenate([nobody, nobody], axis=1)] = MISSING
    return owned


def overall_moves(weights: Rows, updates: Rows, gradients: Rows) -> Rows:
    """Of the whole model, in the order of MOVES."""
    totals = [np.sqrt(each.sum(axis=1)) for each in (weights, updates, gradients)]
    return np.stack([*_four(*totals), (~np.isfinite(weights)).sum(axis=1).astype(np.float64)], axis=1)


def owned_moves(layout: Layout, weights: Rows, updates: Rows, gradients: Rows) -> Rows:
    """Per owner, in the order of OWNED_MOVES: as many columns as there are owners for each."""
    return np.concatenate(_four(*map(layout.add_up, (weights, updates, gradients))), axis=1)


def leave_out_unread(
    layout: Layout, overall: Rows, owners: Rows, stepped: NDArray[np.bool_], known: NDArray[np.bool_]
) -> None:
    """Nothing is said of the updates of owners whom nobody stepped, nor of weights that were never read."""
    count = len(layout.owners)
    by_owner = owners.reshape(len(owners), len(OWNED_MOVES), count)
    by_owner[:, 1:][np.repeat((layout.add_up(stepped.astype(float)) == 0)[:, None], len(OWNED_MOVES) - 1, 1)] = MISSING
    unread = layout.add_up((~known).astype(float)) > 0
    for vital in (0, 2):  # the norm of the weights, and what is divided by it
        by_owner[:, vital][unread] = MISSING
        overall[~known.all(axis=1), vital] = MISSING


def single_gradients(before: Rows, present: NDArray[np.bool_]) -> Rows:
    """Of each parameter tensor by itself."""
    return np.where(present, np.sqrt(before), MISSING)


def single_moves(
    weights: Rows, updates: Rows, stepped: NDArray[np.bool_] | None, known: NDArray[np.bool_] | None
) -> Rows:
    """The weights of each tensor, then what the step changed of it."""
    norms, moves = np.sqrt(weights), np.sqrt(updates)
    norms = norms if known is None else np.where(known, norms, MISSING)
    moves = moves if stepped is None else np.where(stepped, moves, MISSING)
    return np.concatenate([norms, moves], axis=1)


def by_parameter(vitals: Sequence[str], layout: Layout) -> list[Key]:
    return [(vital, name) for vital in vitals for name in layout.names]


def owned(vitals: Sequence[str], layout: Layout) -> list[Key]:
    return [(vital, owner) for vital in vitals for owner in layout.owners]


def _four(weights: Rows, updates: Rows, gradients: Rows) -> list[Rows]:
    """Parameter norm, update norm, relative update and effective rate; 0/0 was never anything: missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where((weights == 0) & (updates == 0), MISSING, updates / weights)
        effective = np.where(gradients == 0, MISSING, updates / gradients)
    return [weights, updates, relative, effective]


def _put(row: NDArray[np.generic], members: Members, values: NDArray[np.generic]) -> None:
    if members is None:
        row[:] = values
    else:
        row[members] = values
