"""The row that every step has: loss, learning rates, time, and what a clip call knew.

Steps come one by one as beats, or as a stretch of quiet ones; either way one row each, in one metric set.
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

from bedside.collect.reading.device_queue import Freight, Ticket
from bedside.collect.step.clipping import ClipCall, Clipped, clipped
from bedside.collect.step.fast_path import Block
from bedside.collect.step.loss import Divisors
from bedside.collect.step.step_data import Beat, Number, number
from bedside.record.missing import MISSING
from bedside.record.run import Key

Rows = NDArray[np.float64]
Columns = Mapping[Key, Sequence[float] | Rows]
LossOf = Callable[[Sequence[Number], Sequence[Divisors]], float]

CLIP = [("clip_threshold", ""), ("grad_clip_ratio", ""), ("clip_active", "")]
NORMS = [("grad_norm", ""), ("grad_norm_clipped", "")]


@dataclass(frozen=True)
class Stretch:
    """A block of quiet steps whose numbers may still be on their way."""

    block: Block
    losses: Ticket
    norms: Ticket | None  # before clipping, where there was any
    squares: Sequence[Ticket]  # of gradients, updates and weights, if they were read

    @classmethod
    def of(cls, block: Block, freight: Freight) -> Stretch:
        totals = [clip[1] for clip in block.clips if clip is not None]
        moves = [reading.moves for reading in block.readings if reading.moves is not None]
        read = [[each.gradients for each in block.readings], [u for u, _ in moves], [w for _, w in moves]]
        return cls(
            block,
            _put(block.losses, freight),
            _put(totals, freight) if totals else None,
            [_put(each, freight) for each in read] if block.readings else (),
        )

    @cached_property
    def steps(self) -> list[int]:
        return list(range(self.block.first, self.block.first + len(self.block)))

    @cached_property
    def times(self) -> list[float]:
        return (np.asarray(self.block.ends) + (time.time() - time.perf_counter())).tolist()

    @cached_property
    def clips(self) -> list[Clipped | None]:
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


def core(items: Sequence[Beat | Stretch], clips: Mapping[int, Clipped | None], loss_of: LossOf) -> Core:
    """One row a step, in order. `clips` are those of the beats, by step."""
    parts = [_of_stretch(each) if isinstance(each, Stretch) else _of_beat(each, clips, loss_of) for each in items]
    sizes = [len(each.block) if isinstance(each, Stretch) else 1 for each in items]
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
        if isinstance(each, Stretch):
            steps += each.steps
            times += each.times
        else:
            steps.append(each.step)
            times.append(each.time)
    return Core(columns, steps, times, rows)


def _of_beat(beat: Beat, clips: Mapping[int, Clipped | None], loss_of: LossOf) -> Columns:
    parts = [loss_of(values, divisors) for values, divisors in zip(beat.losses, beat.divisors, strict=True)]
    found: dict[Key, Sequence[float]] = {
        ("loss", ""): [sum(parts) if parts else MISSING],
        ("micro_batches", ""): [max(map(len, beat.losses)) if parts else MISSING],
        ("uncleared", ""): [MISSING if beat.uncleared is None else beat.uncleared],
        ("step_time", ""): [beat.seconds if beat.seconds == beat.seconds else MISSING],
        ("epoch", ""): [MISSING if beat.epoch is None else beat.epoch],
    }
    found |= {("lr", owner): [number(rate)] for owner, rate in (beat.rates or {}).items()}
    if len(parts) > 1:
        found |= {("loss", f"optimizer_{i}"): [part] for i, part in enumerate(parts)}
    if (clip := clips.get(beat.step)) is not None:
        found |= {key: [value] for key, value in zip(CLIP, _clip_values(clip), strict=True)}
        if clip.whole and not beat.gradients:  # a call over all gradients knew their norm
            found |= {NORMS[0]: [clip.total], NORMS[1]: [clip.norm_after]}
    return found


def _of_stretch(stretch: Stretch) -> Columns:
    block = stretch.block
    rates = np.asarray(block.rates, np.float64).reshape(len(block), -1).T
    found: dict[Key, Sequence[float] | Rows] = {
        ("loss", ""): stretch.losses.numbers,
        ("micro_batches", ""): np.ones(len(block)),
        ("uncleared", ""): np.full(len(block), 0.0 if block.cleared else MISSING),
        ("step_time", ""): np.diff([block.began, *block.ends]),
        ("epoch", ""): np.full(len(block), MISSING if block.epoch is None else block.epoch),
    }
    found |= {("lr", f"group_{i}" if i else ""): group for i, group in enumerate(rates)}
    if stretch.norms is not None:
        empty = [MISSING] * 5
        known = stretch.clips
        table = [empty if clip is None else [*_clip_values(clip), clip.total, clip.norm_after] for clip in known]
        columns = [*CLIP, *NORMS] if block.layout is None else CLIP  # norms that were read need not be told by the call
        found |= dict(zip(columns, np.asarray(table).T, strict=False))
    return found


def _clip_values(clip: Clipped) -> list[float]:
    return [clip.threshold, clip.ratio, float(clip.active)]


def _put(values: Sequence[float | Tensor | Rows], freight: Freight) -> Ticket:
    """All of them on one ticket, wherever they are."""
    if values and isinstance(values[0], Tensor):  # then all are: a stretch is of one kind
        return freight.put(torch.cat([torch.as_tensor(each).reshape(-1) for each in values]))
    ticket = Ticket()
    ticket.numbers = np.asarray(values, np.float64)
    return ticket
