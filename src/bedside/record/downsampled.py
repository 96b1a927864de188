"""Columns that grow for ever in a bounded space: exact at both ends, averaged in between.

    | the first 32 rows | block means of the middle, at most 448 | the newest rows, at least 512 |

When the space is full, the oldest 512 of the newest rows become block means; when there are too many blocks,
pairs of them are averaged and every block stands for twice as many rows. Each row is moved a bounded number of
times, so appending costs O(1) a row however long the run gets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from bedside.record.joined_series import end_to_end
from bedside.record.missing import MISSING, is_missing
from bedside.record.series import Steps, Values

HEAD = 32  # rows that are never averaged: what a run was like at its very start
MIDDLE = 448  # block means: enough to show a curve
FOLD = 512  # rows averaged at a time; as many stay exact, which is more than any window that rules look through
CAPACITY = HEAD + MIDDLE + 2 * FOLD
# Small pieces wait, to be put in place together: they come all the time, and somebody looks now and then.
SMALL = 2048  # readings: from here on joining pieces costs as much as it saves
MAX_PIECES = 32  # an array of a single row is mostly overhead
FIRST_ROOM = 64  # rows there is room for at first: memory that a short run never needs is not asked for


class Thinned:
    """Rows of `width` columns that share their steps."""

    def __init__(self, width: int) -> None:
        self._values = np.empty((width, FIRST_ROOM))  # a column is contiguous
        self._first = np.empty(FIRST_ROOM, np.int64)  # the steps that each place stands for; the same if it is exact
        self._last = np.empty(FIRST_ROOM, np.int64)
        self._length = 0
        self._middle = 0  # how many places are block means
        self._stride = 2  # rows in a block
        self._in_last = 2  # rows in the last block, which may still be filling
        self._nonfinite_since = np.full(width, -1, np.int64)  # exact, also after its row has been averaged
        self._seen = np.zeros(width, bool)
        self._all_seen = False
        self._steps: list[Steps] = []  # what has come but is not yet in its place
        self._rows: list[Values] = []
        self._waiting = 0  # readings
        self._newest = -1

    def append(self, steps: Sequence[int] | Steps, values: NDArray[np.float64]) -> None:
        """Add `values` (rows, columns) at increasing `steps`; going back to an earlier step drops what came after.

        Nobody may change `values` afterwards.
        """
        at = np.asarray(steps, np.int64)
        if not len(at):
            return
        if at[0] <= self._newest:
            self._settle()
        self._steps.append(at)
        self._rows.append(values)
        self._newest = int(at[-1])
        self._waiting += values.size
        if self._waiting >= SMALL or len(self._rows) >= MAX_PIECES:
            self._settle()

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which columns have had a reading."""
        self._settle()
        return self._seen

    def _settle(self) -> None:
        if not self._steps:
            return
        at, rows = end_to_end(self._steps), np.asarray(end_to_end(self._rows), np.float64)
        self._steps, self._rows, self._waiting = [], [], 0
        if self._length and at[0] <= self._last[self._length - 1]:
            self._go_back_to(int(at[0]))
        if not self._all_seen:
            self._seen |= ~is_missing(rows).all(axis=0)
            self._all_seen = bool(self._seen.all())
        done = 0
        while done < len(at):
            if self._length == CAPACITY:
                self._fold()
            n = min(len(at) - done, CAPACITY - self._length)
            self._make_room(self._length + n)
            here = slice(self._length, self._length + n)
            self._values[:, here] = rows[done : done + n].T
            self._first[here] = self._last[here] = at[done : done + n]
            self._length += n
            done += n

    def _make_room(self, rows: int) -> None:
        """For so many in all, and as many again, up to the most there may be."""
        if rows > len(self._first):
            room = min(CAPACITY, 2 * rows)
            old = self._values, self._first, self._last
            self._values = np.empty((len(self._values), room))
            self._first, self._last = np.empty((2, room), np.int64)
            for array, kept in zip((self._values, self._first, self._last), old, strict=True):
                array[..., : self._length] = kept[..., : self._length]

    def columns(self, which: Sequence[int]) -> Iterator[tuple[Steps, Values]]:
        """Steps and values of some columns, without what is missing; copies, safe to keep."""
        self._settle()
        first, last = self._first[: self._length], self._last[: self._length]
        steps = (first + last) // 2
        values = self._values[list(which), : self._length]
        gaps = is_missing(values)
        gappy = np.any(gaps, axis=1)  # of all at once: one column at a time takes twice as long
        nonfinite_since = self._nonfinite_since[list(which)].tolist()
        for readings, gap, has_gaps, since in zip(values, gaps, gappy, nonfinite_since, strict=True):
            at = steps
            if since >= 0:
                at = steps.copy()
                at[np.searchsorted(first, since, "right") - 1] = since
            yield (at[~gap], readings[~gap]) if has_gaps else (at, readings)

    def _fold(self) -> None:
        """Average the oldest rows that are still exact."""
        start = HEAD + self._middle
        folded = slice(start, start + FOLD)
        rows = self._values[:, folded]
        self._remember_nonfinite(rows, self._first[folded])
        filling = self._in_last < self._stride
        if not filling and self._middle + max(1, FOLD // self._stride) > MIDDLE:
            self._halve()
        blocks = max(1, FOLD // self._stride)
        size = FOLD // blocks
        means = _means(rows.reshape(len(rows), blocks, size))
        first, last = self._first[folded][::size].copy(), self._last[folded][size - 1 :: size].copy()
        rest = slice(start + FOLD, self._length)
        rest_of = [each[..., rest].copy() for each in (self._values, self._first, self._last)]
        end = HEAD + self._middle
        if filling:
            share = self._in_last / (self._in_last + FOLD)
            means = _weighted(self._values[:, end - 1 : end], means, share)
            first = self._first[end - 1 : end].copy()
            self._middle -= 1
            end -= 1
            self._in_last += FOLD
        else:
            self._in_last = min(FOLD, self._stride)
        self._middle += blocks
        self._length = end + blocks + len(rest_of[1])
        for array, block, kept in zip(
            (self._values, self._first, self._last), (means, first, last), rest_of, strict=True
        ):
            array[..., end : end + blocks] = block
            array[..., end + blocks : self._length] = kept

    def _halve(self) -> None:
        """Make one block of two; an odd one at the end, left by going back, stays as it is."""
        end = HEAD + self._middle
        pairs = self._middle // 2
        paired = slice(HEAD, HEAD + 2 * pairs)
        means = _means(self._values[:, paired].reshape(len(self._values), pairs, 2))
        self._values[:, HEAD : HEAD + pairs] = means
        self._first[HEAD : HEAD + pairs] = self._first[paired][::2].copy()
        self._last[HEAD : HEAD + pairs] = self._last[paired][1::2].copy()
        odd = slice(HEAD + 2 * pairs, end)
        for array in (self._values, self._first, self._last):
            array[..., HEAD + pairs : HEAD + pairs + self._middle % 2] = array[..., odd].copy()
        self._middle = pairs + self._middle % 2
        self._stride *= 2
        self._in_last = self._stride

    def _go_back_to(self, step: int) -> None:
        self._length = int(np.searchsorted(self._last[: self._length], step))
        if self._length < HEAD + self._middle:
            self._middle = max(0, self._length - HEAD)
            self._in_last = self._stride
        if not self._middle:
            self._stride = self._in_last = 2
        self._nonfinite_since[self._nonfinite_since >= step] = -1

    def _remember_nonfinite(self, rows: Values, steps: Steps) -> None:
        bad = ~np.isfinite(rows)
        if bad.any():
            bad &= ~is_missing(rows)
            new = bad.any(axis=1) & (self._nonfinite_since < 0)
            self._nonfinite_since[new] = steps[bad[new].argmax(axis=1)]


def _means(blocks: Values) -> Values:
    """Mean of the readings on the last axis; non-finite if one of them is, missing if all of them are."""
    missing = is_missing(blocks)
    if not missing.any():
        with np.errstate(invalid="ignore"):
            return np.asarray((blocks / blocks.shape[-1]).sum(axis=-1))
    present = ~missing
    count = present.sum(axis=-1)
    with np.errstate(invalid="ignore"):  # inf - inf is NaN: as alarming as either
        # Divided before adding up, so that large readings do not add up to an infinity nobody saw.
        mean = np.where(present, blocks / np.maximum(count, 1)[..., np.newaxis], 0.0).sum(axis=-1)
    mean[count == 0] = MISSING
    return np.asarray(mean)


def _weighted(old: Values, new: Values, share: float) -> Values:
    """`old` with `share` and `new` with the rest of the weight; where one is missing, the other."""
    with np.errstate(invalid="ignore"):
        both = old * share + new * (1 - share)
    return np.where(is_missing(old), new, np.where(is_missing(new), old, both))
