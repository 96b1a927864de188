"""Blank cells that were NaN: pandas writes both the same way, but a NaN leaves its siblings behind.

An evaluation writes its loss, its metrics and its bookkeeping in one row. Where the bookkeeping is there and the loss
is not, the loss was NaN; what may be NaN together with it (other losses, norms, metrics) bears witness only where
there is nothing else. Where a row has nothing but its step, everything it held was NaN. A column that is written less
often than its neighbours is only sparse; and one that ends while a loss of the other split goes on changing was no
longer written: weights that are NaN give no finite loss on any data.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from bedside.logs.log import Log
from bedside.logs.step_axis import axis_of
from bedside.naming.metric_names import read_name
from bedside.record.missing import MISSING, is_missing

Numbers = NDArray[np.float64]  # MISSING where there is none

SIBLINGS_FILLED = 0.5  # of the columns that always came along: fewer, and the row is of another kind
LONE_BLANKS = 0.1  # of its readings: a loss that is blank more often is logged sparsely, not NaN
MAX_LOSSES = 100  # losses in one table that are looked at: each is compared with every column
BEFORE = 2  # complete rows before the first blank: one alone cannot show that the columns belong together...
ALIVE = 5  # finite readings of another loss, most of them new: a mean over an epoch holds one that is old
DENSE = 0.9  # of the other cells: ...unless every row of the table is of one kind, and it is blank to the end
MAY_BE_NAN = ("loss", "metric", "grad_norm", "grad_norm_clipped", "param_norm")  # kinds that go together


def with_gaps(column: Numbers) -> list[float | None]:
    return [None if gap else value for value, gap in zip(column.tolist(), is_missing(column).tolist(), strict=True)]


def without_gaps(column: Sequence[float | None]) -> Numbers:
    return np.array([MISSING if value is None else value for value in column], np.float64)


def recover_nans(log: Log, names: Sequence[str], columns: Sequence[Numbers], damaged: set[int]) -> None:
    """pandas writes NaN as a blank cell; beside filled siblings a blank loss was NaN."""
    clocks = {i for i, name in enumerate(names) if name not in log.columns}
    suspects = [i for i, name in enumerate(names) if read_name(name).kind in ("loss", "grad_norm") and i not in clocks]
    if not 0 < len(suspects) <= MAX_LOSSES or not any(is_missing(columns[i]).any() for i in suspects):
        return
    filled = ~np.array([is_missing(column) for column in columns])
    filled[list(clocks)] = False
    steps = axis_of(names, lambda name: with_gaps(columns[list(names).index(name)]), len(columns[0])).steps
    steady = {i for i, name in enumerate(names) if i not in clocks and read_name(name).kind not in MAY_BE_NAN}
    found = []
    for i in suspects:
        near = [j for j, name in enumerate(names) if name in log.columns and _beside(name, names[i])]
        rows = [r for r in hidden_nans(filled, i, near, steady) if steps[r] is not None and r not in damaged]
        column = log.columns.get(names[i])
        if not rows or column is None or (_to_the_end(filled[i], rows) and _network_lives(names, columns, i, rows)):
            continue
        for row in rows:
            column.append(steps[row] or 0.0, float("nan"), row)
        found.append(f"{len(rows)} of {names[i]}")
    if found:
        log.note(f"Blank cells beside filled siblings were read as NaN: {', '.join(found)}.")


def _to_the_end(filled: NDArray[np.bool_], rows: Sequence[int]) -> bool:
    """Whether all the blanks come after the last reading."""
    return not filled[rows[0] :].any()


def _network_lives(names: Sequence[str], columns: Sequence[Numbers], loss: int, rows: Sequence[int]) -> bool:
    """Whether a loss on other data was finite, and changed, at `ALIVE` or more of these rows."""
    mine = read_name(names[loss])
    if mine.kind != "loss":
        return False
    for name, column in zip(names, columns, strict=True):
        its = read_name(name)
        if its.kind == "loss" and (its.split or "train") != (mine.split or "train"):
            late = column[list(rows)]
            late = late[np.isfinite(late) & ~is_missing(late)]
            if len(late) >= ALIVE and len(np.unique(late)) > len(late) / 2:
                return True
    return False


def recover_nones(log: Log) -> None:
    """A loss that is `None` from some reading on to the end was NaN: JSON has no other word for it."""
    found = []
    for name, blanks in log.blanks.items():
        column = log.columns.get(name)
        if column is None or read_name(name).kind not in ("loss", "grad_norm") or len(column) < BEFORE:
            continue
        read = sorted(column.order)
        runs = np.bincount(np.searchsorted(read, [order for _, order in blanks]), minlength=len(read) + 1)
        if runs[-1] < BEFORE or runs[-1] <= runs[:-1].max():
            continue
        last = [(step, order) for step, order in blanks if order > read[-1]]
        for step, order in last:
            column.append(step, float("nan"), order)
        found.append(f"{len(last)} of {name}")
    if found:
        log.note(f"Readings that are None to the end were read as NaN: {', '.join(found)}.")


def _beside(name: str, loss: str) -> bool:
    """Whether a metric is of the same split as a loss, and none itself: `validation/wer`, `validation/num_examples`."""
    mine, its = read_name(name), read_name(loss)
    return bool(its.split) and mine.split == its.split and mine.kind != "loss"


def hidden_nans(
    filled: np.ndarray[tuple[int, int], np.dtype[np.bool_]],
    column: int,
    near: Sequence[int] = (),
    steady: Collection[int] = (),
) -> list[int]:
    """Rows in which `column` is blank although the columns that always came with it are there.

    `filled[i, row]` says which cells have a value; where there are columns `near` it, one of these must be there, and
    where some are `steady` (never NaN themselves) only those are asked. Also rows in which nothing at all was written
    after the column's own kind of row: what they held was blank.
    """
    mine = filled[column]
    present = np.flatnonzero(mine)
    if not len(present) or mine.all():
        return []
    first = present[0]
    siblings = [
        i
        for i in range(len(filled))
        if i != column and filled[i, first] and not filled[i, :first].any() and filled[i, present].all()
    ]
    witnesses = [i for i in siblings if i in steady] or siblings
    blank = np.zeros(len(mine), bool)
    if witnesses:
        there = filled[witnesses].mean(axis=0) > SIBLINGS_FILLED
        close = [i for i in siblings if i in near]
        if close:
            there &= filled[close].any(axis=0)
        blank |= ~mine & there
    written = filled.any(axis=0)
    kind_before = np.maximum.accumulate(np.where(written, np.arange(len(mine)), -1))  # the last row that held anything
    blank |= ~written & (kind_before >= 0) & mine[kind_before]
    rows = np.flatnonzero(blank & (np.arange(len(mine)) > first))
    if len(rows) == 0:
        return []
    before = int((present < rows[0]).sum())
    of_one_kind = len(rows) == len(mine) - rows[0] and bool(set(witnesses) & set(steady))
    if before < BEFORE and not (of_one_kind and float(filled[list(steady), rows[0] :].mean()) >= DENSE):
        return []
    lone = (rows < present[-1]).sum()
    return [int(row) for row in rows] if lone <= LONE_BLANKS * len(present) else []
