"""From beats to rows: the numbers of many steps are fetched in one go and written as the vitals they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from bedside.collect.beat import Beat, Members, Number, number
from bedside.collect.clipping import Clipped, clipped
from bedside.collect.core import Rows, Stretch, core
from bedside.collect.freight import Freight, Ticket
from bedside.collect.layout import Layout
from bedside.collect.loss import Accumulation, Divisors
from bedside.collect.quiet import Block
from bedside.collect.stagger import PARTS, Round
from bedside.record.missing import MISSING
from bedside.record.run import Key

Write = Callable[[str, Sequence[Key], list[int], list[float], Rows, str], None]

SCALER = [("loss_scale", ""), ("skipped", "")]
NORMS = [("grad_norm", ""), ("grad_norm_clipped", ""), ("nonfinite_grads", "")]
MOVES = [
    (vital, "")
    for vital in ("param_norm", "update_norm", "relative_update_norm", "effective_lr_ratio", "nonfinite_params")
]
OWNED_GRADIENTS = ("grad_norm", "grad_norm_clipped")
OWNED_MOVES = ("param_norm", "update_norm", "relative_update_norm", "effective_lr_ratio")


class Pulse:
    """Keeps beats until `flush`, then turns them into rows of the record's metric sets."""

    def __init__(self, write: Write) -> None:
        self.accumulation = Accumulation()
        self.divided: bool | None = None  # whether the user divides by the number of micro-batches, once known
        self.gradient_steps: NDArray[np.int64] = np.zeros(0, np.int64)
        self.watched_steps = 0
        self.alarming = False  # a loss that is not finite is among what waits, and it is the first
        self._write = write
        self._waiting: list[Beat | Stretch] = []
        self._steps = 0
        self._all_finite = True
        self._round: Round | None = None

    def __len__(self) -> int:
        """How many steps wait."""
        return self._steps

    def rest(self, block: Block, freight: Freight) -> None:
        """A stretch of quiet steps."""
        if len(block):
            self._waiting.append(Stretch.of(block, freight))
            self._steps += len(block)

    def add(self, beat: Beat) -> None:
        self._waiting.append(beat)
        self._steps += 1
        finite = all(each - each == 0 for values in beat.losses for each in values if not isinstance(each, Ticket))
        self.alarming |= self._all_finite and not finite
        self._all_finite = finite

    def start_counting(self, layout: Layout) -> None:
        self.gradient_steps = np.zeros(len(layout), np.int64)
        self.watched_steps = 0

    def flush(self) -> Rows:
        """Write what waited on the freight that was just unloaded; returns the losses."""
        waiting, self._waiting, self._steps, self.alarming = self._waiting, [], 0, False
        if not waiting:
            return np.empty(0)
        beats = [each for each in waiting if isinstance(each, Beat)]
        # A step that the scaler skipped has gradients that mean nothing, and made no change.
        skipped = {b.step: bool(b.skipped) or self._fused_skip(b) for b in beats}
        clips = {b.step: None if skipped[b.step] else _clipped(b) for b in beats}
        rows = core(waiting, clips, self._loss)
        self._write("core", rows.columns, rows.steps, rows.times, rows.rows, "f8")
        self._scaler([(b, skipped[b.step]) for b in beats if b.skipped is not None])
        for group in _by_layout([(b, clips[b.step]) for b in beats if b.gradients and not skipped[b.step]]):
            self._norms(group)
        return rows.losses

    def _loss(self, values: Sequence[Number], divisors: Sequence[Divisors]) -> float:
        if len(values) == 1 and self.accumulation.confirmed is None:
            return number(values[0])
        loss, divided = self.accumulation.loss_of([number(each) for each in values], divisors)
        self.divided = self.divided if divided is None else divided
        return loss

    def _scaler(self, beats: Sequence[tuple[Beat, bool]]) -> None:
        if beats:
            scales = [MISSING if b.loss_scale is None else b.loss_scale.number for b, _ in beats]
            rows = np.asarray([scales, [float(skip) for _, skip in beats]]).T
            self._rows("scaler", SCALER, [b for b, _ in beats], rows, "f8")

    def _fused_skip(self, beat: Beat) -> bool:
        return beat.found_inf is not None and beat.found_inf.number > 0

    def _norms(self, beats_and_clips: Sequence[tuple[Beat, Clipped | None]]) -> None:
        beats = [beat for beat, _ in beats_and_clips]
        clips = [clip for _, clip in beats_and_clips]
        layout = beats[0].layout
        count = len(layout)
        after = np.zeros((len(beats), count))
        present = np.zeros((len(beats), count), bool)
        factors = np.ones((len(beats), count))
        for row, (beat, clip) in enumerate(beats_and_clips):
            for part in beat.gradients:
                squares = part.squares.numbers
                if part.scale is not None:
                    squares = squares / part.scale.number**2
                here = np.ones(len(squares), bool)
                here[list(part.absent)] = False
                _put(after[row], part.members, squares)
                _put(present[row], part.members, here)
            if clip is not None:
                factors[row] = clip.factors(count)
        self._count(present)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            before = np.where(factors == 1.0, after, after / factors**2)
        self._overall_gradients(beats, before, after, clips)
        owned_after = layout.add_up(after)
        gradients = np.concatenate([layout.add_up(before), owned_after], axis=1)
        if not present.all():
            nobody = layout.add_up(present.astype(np.float64)) == 0
            gradients[np.concatenate([nobody, nobody], axis=1)] = MISSING
        self._rows("gradients", _owned(OWNED_GRADIENTS, layout), beats, gradients, "f4")
        moved = [(row, b) for row, b in enumerate(beats) if b.moves]
        if moved:
            self._moves([b for _, b in moved], after[[row for row, _ in moved]])
        for beat in beats:
            if beat.part_moves:
                self._part(beat)

    def _overall_gradients(
        self, beats: Sequence[Beat], before: Rows, after: Rows, clips: Sequence[Clipped | None]
    ) -> None:
        rows = np.empty((len(beats), 3))
        rows[:, 0] = np.sqrt(before.sum(axis=1))
        rows[:, 1] = np.sqrt(after.sum(axis=1))
        rows[:, 2] = (~np.isfinite(after)).sum(axis=1)
        for row, clip in zip(rows, clips, strict=True):
            if clip is not None and not np.isfinite(row[0]):
                row[0] = clip.total  # clipping turned an infinity into NaN; the call knew which it was
        self._rows("norms", NORMS, beats, rows, "f8")

    def _moves(self, beats: Sequence[Beat], gradients: Rows) -> None:
        layout = beats[0].layout
        updates = np.zeros((len(beats), len(layout)))
        weights = np.zeros((len(beats), len(layout)))
        for row, beat in enumerate(beats):
            for part in beat.moves:
                _put(updates[row], part.members, part.updates.numbers)
                _put(weights[row], part.members, part.weights.numbers)
        self._rows("moves", MOVES, beats, _overall(weights, updates, gradients), "f8")
        owned = _four(layout.add_up(weights), layout.add_up(updates), layout.add_up(gradients))
        self._rows("owned_moves", _owned(OWNED_MOVES, layout), beats, np.concatenate(owned, axis=1), "f4")

    def _part(self, beat: Beat) -> None:
        """A part of the updates: owners whose last one it was are complete. A round that misses one is given up."""
        layout, part = beat.layout, beat.part_moves[0].part
        if part == 0:
            last = np.zeros(len(layout), np.int64)
            for each in beat.part_moves:
                last[each.members] = each.last
            self._round = Round(layout, last)
        now = self._round
        if now is None or now.layout is not layout or now.expected != part:
            self._round = None
            return
        now.expected += 1
        for each in beat.part_moves:
            now.add(each.places, each.updates.numbers, each.weights.numbers, each.gradients.numbers)
        updates, weights, gradients = now.sums[:, np.newaxis]
        complete = now.complete(part)
        if complete.any():
            owned = _four(layout.add_up(weights), layout.add_up(updates), layout.add_up(gradients))
            for values in owned:
                values[:, ~complete] = MISSING
            self._rows("owned_moves", _owned(OWNED_MOVES, layout), [beat], np.concatenate(owned, axis=1), "f4")
        if part == PARTS - 1:
            self._rows("moves", MOVES, [beat], _overall(weights, updates, gradients), "f8")

    def _count(self, present: NDArray[np.bool_]) -> None:
        if len(self.gradient_steps) != present.shape[1]:
            self.gradient_steps = np.zeros(present.shape[1], np.int64)
            self.watched_steps = 0
        self.gradient_steps += present.sum(axis=0)
        self.watched_steps += len(present)

    def _rows(self, name: str, columns: Sequence[Key], beats: Sequence[Beat], rows: Rows, dtype: str) -> None:
        self._write(name, columns, [b.step for b in beats], [b.time for b in beats], rows, dtype)


def _four(weights: Rows, updates: Rows, gradients: Rows) -> list[Rows]:
    """Parameter norm, update norm, relative update and effective rate; 0/0 was never anything: missing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where((weights == 0) & (updates == 0), MISSING, updates / weights)
        effective = np.where(gradients == 0, MISSING, updates / gradients)
    return [weights, updates, relative, effective]


def _overall(weights: Rows, updates: Rows, gradients: Rows) -> Rows:
    """The whole model's numbers, from squares per parameter."""
    totals = [np.sqrt(each.sum(axis=1)) for each in (weights, updates, gradients)]
    return np.stack([*_four(*totals), (~np.isfinite(weights)).sum(axis=1).astype(np.float64)], axis=1)


def _owned(vitals: Sequence[str], layout: Layout) -> list[Key]:
    return [(vital, owner) for vital in vitals for owner in layout.owners]


def _put(row: NDArray[np.generic], members: Members, values: NDArray[np.generic]) -> None:
    if members is None:
        row[:] = values
    else:
        row[members] = values


def _clipped(beat: Beat) -> Clipped | None:
    return clipped([(call, number(total)) for call, total in beat.clips]) if beat.clips else None


def _by_layout(beats: Sequence[tuple[Beat, Clipped | None]]) -> list[list[tuple[Beat, Clipped | None]]]:
    groups: list[list[tuple[Beat, Clipped | None]]] = []
    for each in beats:
        if groups and groups[-1][0][0].layout is each[0].layout:
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups
