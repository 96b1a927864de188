"""The row that every step has: loss, learning rates, time, and what a clip call knew.

Steps come one by one, or as batches of consecutive fast-path steps; either way each gets one row, in one metric set.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from bedside.collect.reading.device_queue import DeviceQueue, PendingValue
from bedside.collect.step.clipping import Clip, ClipCall, clipped
from bedside.collect.step.fast_path import FastSteps
from bedside.collect.step.step_data import StepData, number
from bedside.record.missing import MISSING
from bedside.record.run import Key

Rows = NDArray[np.float64]
Columns = Mapping[Key, Sequence[float] | Rows]
LossOf = Callable[
    [StepData], Sequence[tuple[float, int]]
]  # per optimizer: its loss, and how many micro-batches made it

CLIP = [("clip_threshold", ""), ("grad_clip_ratio", ""), ("clip_active", "")]
NORMS = [("grad_norm", ""), ("grad_norm_clipped", "")]


@dataclass(frozen=True)
class StepBatch:
    """A block of fast-path steps whose numbers may still be on their way."""

    block: FastSteps
    losses: PendingValue
    norms: PendingValue | None  # before clipping, where there was any
    squares: Sequence[PendingValue]  # of gradients, updates and weights, if they were read

    @classmethod
    def of(cls, block: FastSteps, queue: DeviceQueue) -> StepBatch:
        totals = [clip[1] for clip in block.clips if clip is not None]
        moves = [reading.moves for reading in block.readings if reading.moves is not None]
        read = [[each.gradients for each in block.readings], [u for u, _ in moves], [w for _, w in moves]]
        return cls(
            block,
            _put(block.losses, queue),
            _put(totals, queue) if totals else None,
            [_put(each, queue) for each in read] if block.readings else (),
        )

    @cached_property
    def steps(self) -> list[int]:
        return list(range(self.block.first, self.block.first + len(self.block)))

    @cached_property
    def times(self) -> list[float]:
        return (np.asarray(self.block.ends) + (time.time() - time.perf_counter())).tolist()

    @cached_property
    def clips(self) -> list[Clip | None]:
        """What was clipped at each step, if anything was."""
        if self.norms is None:
            return [None] * len(self.block)
        totals = iter(self.norms.numbers.tolist())
        return [
            None if clip is None else clipped([(ClipCall(None, clip[0]), next(totals))]) for clip in self.block.clips
        ]


@dataclass(frozen=True)
class Core:
    """Rows for the record."""

    columns: Sequence[Key]
    steps: list[int]
    times: list[float]
    rows: Rows

    @property
    def losses(self) -> Rows:
        """Of those steps that had one."""
        losses = self.rows[:, 0]
        return losses[~np.isnan(self.rows[:, 1])]  # the number of micro-batches, which is never NaN


def core(
    items: Sequence[StepData | StepBatch],
    clips: Mapping[int, Clip | None],
    loss_of: LossOf,
    *,
    totals_are_norms: bool = True,
) -> Core:
    """One row a step, in order. `clips` are those of the steps, by step; where their totals are the gradient's norms,
    steps at which nothing else was read have them from there."""
    parts = [
        _of_batch(each, totals_are_norms)
        if isinstance(each, StepBatch)
        else _of_step(each, clips, loss_of, totals_are_norms)
        for each in items
    ]
    sizes = [len(each.block) if isinstance(each, StepBatch) else 1 for each in items]
    columns = list(dict.fromkeys(key for part in parts for key in part))
    place = {key: column for column, key in enumerate(columns)}
    rows = np.full((sum(sizes), len(columns)), MISSING)
    start = 0
    for part, size in zip(parts, sizes, strict=True):
        for key, values in part.items():
            rows[start : start + size, place[key]] = values
        start += size
    steps: list[int] = []
    times: list[float] = []
    for each in items:
        if isinstance(each, StepBatch):
            steps += each.steps
            times += each.times
        else:
            steps.append(each.step)
            times.append(each.time)
    return Core(columns, steps, times, rows)


def _of_step(data: StepData, clips: Mapping[int, Clip | None], loss_of: LossOf, totals_are_norms: bool) -> Columns:
    parts = loss_of(data)
    found: dict[Key, Sequence[float]] = {
        ("loss", ""): [sum(loss for loss, _ in parts) if parts else MISSING],
        ("micro_batches", ""): [max(count for _, count in parts) if parts else MISSING],
        ("grads_not_zeroed", ""): [MISSING if data.grads_not_zeroed is None else data.grads_not_zeroed],
        ("step_time", ""): [data.seconds if data.seconds == data.seconds else MISSING],
        ("epoch", ""): [MISSING if data.epoch is None else data.epoch],
    }
    found |= {("lr", owner): [number(rate)] for owner, rate in (data.rates or {}).items()}
    if data.discarded:
        found["discarded_backwards", ""] = [data.discarded]
    if len(parts) > 1:
        found |= {("loss", f"optimizer_{i}"): [loss] for i, (loss, _) in enumerate(parts)}
    if (clip := clips.get(data.step)) is not None:
        found |= {key: [value] for key, value in zip(CLIP, _clip_values(clip), strict=True)}
        if totals_are_norms and clip.whole and not data.gradients:  # a call over all gradients knew their norm
            found |= {NORMS[0]: [clip.total], NORMS[1]: [clip.norm_after]}
    return found


def _table_of(rates: Sequence[float | Sequence[float]]) -> Rows:
    """A row per step; where a group was added on the way, earlier steps have none for it."""
    try:
        return np.asarray(rates, np.float64).reshape(len(rates), -1)
    except ValueError:
        rows = [each if isinstance(each, Sequence) else (each,) for each in rates]
        most = max(map(len, rows))
        return np.asarray([(*row, *(MISSING,) * (most - len(row))) for row in rows], np.float64)


def _of_batch(batch: StepBatch, totals_are_norms: bool) -> Columns:
    block = batch.block
    rates = _table_of(block.rates).T
    found: dict[Key, Sequence[float] | Rows] = {
        ("loss", ""): batch.losses.numbers,
        ("micro_batches", ""): np.ones(len(block)),
        ("grads_not_zeroed", ""): np.zeros(len(block)),
        ("step_time", ""): np.diff([block.began, *block.ends]),
        ("epoch", ""): np.full(len(block), MISSING if block.epoch is None else block.epoch),
    }
    found |= {("lr", f"group_{i}" if i else ""): group for i, group in enumerate(rates)}
    if batch.norms is not None:
        empty = [MISSING] * 5
        known = batch.clips
        table = [empty if clip is None else [*_clip_values(clip), clip.total, clip.norm_after] for clip in known]
        # Norms that were read are not taken from the call.
        columns = [*CLIP, *NORMS] if totals_are_norms and block.layout is None else CLIP
        found |= dict(zip(columns, np.asarray(table).T, strict=False))
    return found


def _clip_values(clip: Clip) -> list[float]:
    return [clip.threshold, clip.ratio, float(clip.active)]


def _put(values: Sequence[float | Tensor | Rows], queue: DeviceQueue) -> PendingValue:
    """All of them on one pending value, wherever they are."""
    if values and isinstance(values[0], Tensor):  # then all are: a stretch is of one kind
        return queue.put(torch.cat([torch.as_tensor(each).reshape(-1) for each in values]))
    pending = PendingValue()
    pending.numbers = np.asarray(values, np.float64)
    return pending
