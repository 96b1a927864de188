"""From steps to rows: the numbers of many steps are fetched in one go and written as the vitals they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bedside.collect.model.parameter_layout import Layout
from bedside.collect.reading import norm_rows as norms
from bedside.collect.reading.device_queue import DeviceQueue, PendingValue
from bedside.collect.reading.last_weights import LastWeights
from bedside.collect.reading.norm_rows import Read
from bedside.collect.reading.partial_updates import PARTS, Round
from bedside.collect.step.clipping import Clip, ClippedByValue, ClipTotals, clipped, clipped_by_value
from bedside.collect.step.common_rows import Rows, StepBatch, core
from bedside.collect.step.fast_path import FastSteps
from bedside.collect.step.hand_clipping import HandClipping
from bedside.collect.step.loss import Accumulation
from bedside.collect.step.loss_parts import LossParts
from bedside.collect.step.step_data import StepData, number
from bedside.record.missing import MISSING
from bedside.record.run import Key

Write = Callable[[str, Sequence[Key], list[int], list[float], Rows, str], None]

SCALER = [("loss_scale", ""), ("skipped", "")]


class StepRows:
    """Keeps steps until `flush`, then turns them into rows of the record's metric sets."""

    def __init__(self, write: Write, *, by_parameter: bool = False) -> None:
        self._by_parameter = by_parameter  # norms of single tensors too, not only of modules
        self.hand_clipping = HandClipping()  # the one of the listener, once there is one
        self._clip_totals = ClipTotals()
        self.accumulation = Accumulation()
        self.clipping: dict[str, Any] = {}  # how, if otherwise than by a call that clips the norm
        self.divided: bool | None = None  # whether the user divides by the number of micro-batches, once known
        self.gradient_steps = self.watched_steps = np.zeros(0, np.int64)  # of each parameter
        self.alarming = False  # a loss that is not finite is among what waits, and it is the first
        self._write = write
        self._waiting: list[StepData | StepBatch] = []
        self._steps = 0
        self._all_finite = True
        self._round: Round | None = None
        self._weights = LastWeights()
        self._parts: dict[int, LossParts] = defaultdict(LossParts)  # by the optimizer's turn in a round

    def __len__(self) -> int:
        """How many steps wait."""
        return self._steps

    def add_batch(self, block: FastSteps, queue: DeviceQueue) -> None:
        """Consecutive fast-path steps."""
        if len(block):
            self._waiting.append(StepBatch.of(block, queue))
            self._steps += len(block)

    def add(self, data: StepData) -> None:
        self._waiting.append(data)
        self._steps += 1
        finite = all(
            each - each == 0 for values in data.losses for each in values if not isinstance(each, PendingValue)
        )
        self.alarming |= self._all_finite and not finite
        self._all_finite = finite

    def start_counting(self, layout: Layout) -> None:
        self.gradient_steps, self.watched_steps = np.zeros((2, len(layout)), np.int64)

    def flush(self) -> Rows:
        """Write what waited on the device queue that was just unloaded; returns the losses."""
        waiting, self._waiting, self._steps, self.alarming = self._waiting, [], 0, False
        if not waiting:
            return np.empty(0)
        steps_data = [each for each in waiting if isinstance(each, StepData)]
        # A step that the scaler skipped has gradients that mean nothing, and made no change.
        skipped = {b.step: bool(b.skipped) or self._fused_skip(b) for b in steps_data}
        self.hand_clipping.learn([b for b in steps_data if not skipped[b.step]])
        clips = {b.step: None if skipped[b.step] else self._clipped(b) for b in steps_data}
        for data in steps_data:
            self._compare_total(data, clips[data.step])
        rows = core(waiting, clips, self._losses, totals_are_norms=self._clip_totals.are_norms)
        self._write("core", rows.columns, rows.steps, rows.times, rows.rows, "f8")
        self._scaler([(b, skipped[b.step]) for b in steps_data if b.skipped is not None])
        for read in _reads(waiting, skipped, clips):
            self._norms(read)
        return rows.losses

    def _losses(self, data: StepData) -> list[tuple[float, int]]:
        """For each optimizer that stepped: its loss, and how many micro-batches made it."""
        return [self._loss(place, data) for place in range(len(data.losses))]

    def _loss(self, place: int, data: StepData) -> tuple[float, int]:
        values, divisors = data.losses[place], data.divisors[place]
        if len(values) == 1 and self.accumulation.confirmed is None:
            return number(values[0]), 1
        total, most = 0.0, 1
        for part in self._parts[place].sorted(*data.origins[place]):
            losses = [sum(number(values[at]) for at in together) for together in part]
            loss, divided = self.accumulation.loss_of(losses, [divisors[together[0]] for together in part])
            self.divided = self.divided if divided is None else divided
            total, most = total + loss, max(most, len(losses))
        return total, most

    def _clipped(self, data: StepData) -> Clip | None:
        """By norm, by value, or by the loop itself."""
        if data.clips:
            return clipped([(call, number(total)) for call, total in data.clips])
        calls = [(each.threshold, each.largest.number) for each in data.unclipped if each.threshold is not None]
        clip = clipped_by_value(calls) if calls else self.hand_clipping.clip_of(data)
        if clip is not None:
            by = "value" if isinstance(clip, ClippedByValue) else "norm"
            self.clipping = {"by": by, "by_hand": not calls, "threshold": clip.threshold}
        return clip

    def _compare_total(self, data: StepData, clip: Clip | None) -> None:
        """What a clip call measured with what was read of all gradients after it, where one process has them all."""
        if len(data.gradients) != 1 or data.layout.ranks > 1:
            return
        [read] = data.gradients
        if read.members is None and read.scale is None and not read.unclipped:
            self._clip_totals.compare(clip, read.squares.numbers)

    def _scaler(self, steps_data: Sequence[tuple[StepData, bool]]) -> None:
        if steps_data:
            scales = [MISSING if b.loss_scale is None else b.loss_scale.number for b, _ in steps_data]
            rows = np.asarray([scales, [float(skip) for _, skip in steps_data]]).T
            self._write("scaler", SCALER, [b.step for b, _ in steps_data], [b.time for b, _ in steps_data], rows, "f8")

    def _fused_skip(self, data: StepData) -> bool:
        return data.found_inf is not None and data.found_inf.number > 0

    def _norms(self, read: Read | StepData) -> None:
        if isinstance(read, StepData):
            self._part(read)
            return
        layout, after, before = read.layout, read.gradients, read.before_clipping()
        self._count(read)
        overall = norms.overall_gradients(before, after, read.clips, layout.ranks)
        self._rows("norms", norms.GRADIENTS, read, overall, "f8")
        owned = norms.owned_gradients(layout, before, after, read.present)
        self._rows("gradients", norms.owned(norms.OWNED_GRADIENTS, layout), read, owned, "f4")
        if self._by_parameter:
            columns = norms.by_parameter(norms.BY_PARAMETER[:1], layout)
            self._rows("single_gradients", columns, read, norms.single_gradients(before, read.present), "f4")
        if len(read.moved):
            moves = read.weights, read.updates, after if len(read.moved) == len(after) else after[read.moved]
            known = self._weights.fill_in(layout, read.weights, read.stepped)
            overall, owned = norms.overall_moves(*moves), norms.owned_moves(layout, *moves)
            if read.stepped is not None and known is not None:
                norms.leave_out_unread(layout, overall, owned, read.stepped, known)
            self._rows("moves", norms.MOVES, read, overall, "f8", read.moved)
            self._rows("owned_moves", norms.owned(norms.OWNED_MOVES, layout), read, owned, "f4", read.moved)
            if self._by_parameter:
                columns = norms.by_parameter(norms.BY_PARAMETER[1:], layout)
                single = norms.single_moves(read.weights, read.updates, read.stepped, known)
                self._rows("single_moves", columns, read, single, "f4", read.moved)

    def _part(self, data: StepData) -> None:
        """A part of the updates: owners whose last one it was are complete. A round that misses one is given up."""
        layout, part = data.layout, data.part_moves[0].part
        if part == 0:
            last = np.zeros(len(layout), np.int64)
            for each in data.part_moves:
                last[each.members] = each.last
            self._round = Round(layout, last)
        now = self._round
        if now is None or now.layout is not layout or now.expected != part:
            self._round = None
            return
        now.expected += 1
        for each in data.part_moves:
            now.add(each.places, each.updates.numbers, each.weights.numbers, each.gradients.numbers)
        updates, weights, gradients = layout.of_this_rank(now.sums)[:, np.newaxis]
        complete = now.complete(part)
        when = [data.step], [data.time]
        if complete.any():
            owned = norms.owned_moves(layout, weights, updates, gradients)
            owned[:, np.tile(~complete, len(norms.OWNED_MOVES))] = MISSING
            self._write("owned_moves", norms.owned(norms.OWNED_MOVES, layout), *when, owned, "f4")
        if part == PARTS - 1:
            self._write("moves", norms.MOVES, *when, norms.overall_moves(weights, updates, gradients), "f8")

    def _count(self, read: Read) -> None:
        if len(self.gradient_steps) != len(read.layout):
            self.start_counting(read.layout)
        self.gradient_steps += read.present.sum(axis=0)
        self.watched_steps += len(read.present) if read.looked_at is None else read.looked_at.sum(axis=0)

    def _rows(
        self, name: str, columns: Sequence[Key], read: Read, rows: Rows, dtype: str, places: Sequence[int] = ()
    ) -> None:
        """At all steps that were read, or at these."""
        steps, times = read.steps, read.times
        if 0 < len(places) < len(steps):
            steps, times = [steps[i] for i in places], [times[i] for i in places]
        self._write(name, columns, steps, times, rows, dtype)


def _reads(
    waiting: Sequence[StepData | StepBatch], skipped: Mapping[int, bool], clips: Mapping[int, Clip | None]
) -> Iterator[Read | StepData]:
    """What was read of gradients and updates, in the order of the steps; steps of one layout together, whatever
    fast-path steps were between them. A step's data that measured a part of the updates comes once more by itself."""
    together: list[StepData] = []
    for each in [*waiting, None]:
        if isinstance(each, StepData) and (skipped[each.step] or not each.gradients):
            continue
        if isinstance(each, StepBatch) and each.block.layout is None:
            continue
        if together and not (isinstance(each, StepData) and each.layout is together[0].layout):
            yield norms.of_steps([(data, clips[data.step]) for data in together])
            yield from (data for data in together if data.part_moves)
            together = []
        if isinstance(each, StepData):
            together.append(each)
        elif each is not None and each.block.layout is not None:
            yield norms.of_batch(each, each.block.layout)
