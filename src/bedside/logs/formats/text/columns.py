"""The columns of a text log, when all of it was read: without talk, rounded zeros and repetitions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from bedside.logs.log import Column, Log
from bedside.naming.metric_names import read_name

SKIPS = "skipped steps"  # the column of lines that say so
SEEN, SHARE = 3, 0.05  # steps, and share of all steps, at which a name nobody knows must stand: less is talk
FEW_UNITS = 100  # of the last digit that is printed: a rate that is never more is rounded to zero on its way down


def clean(log: Log, *, bars_repeat: bool, repeated: Collection[str] = ()) -> None:
    """Leave what was measured; `bars_repeat` says that an evaluation may have been printed again and again.

    `repeated` are evaluations that a bar carried into the next epoch: they may be made every few epochs only.
    """
    _drop_talk(log)
    _skipped_steps(log)
    for name, column in log.columns.items():
        meaning = read_name(name)
        if name in repeated or (bars_repeat and (meaning.split in ("val", "test") or meaning.over == "epoch")):
            log.columns[name] = _told_once(column)
        elif meaning.kind == "lr":
            _rounded_zeros(log, name, column)
    log.columns = {name: column for name, column in log.columns.items() if len(column)}


def _told_once(column: Column) -> Column:
    """Where a bar repeats the last evaluation, over epochs or steps, until the next: each is one reading."""
    values = [None if math.isnan(value) else value for value in column.values]
    new = [i for i, value in enumerate(values) if i == 0 or value != values[i - 1]]
    lengths = sorted(after - at for at, after in zip(new, [*new[1:], len(column)], strict=True))
    if len(new) < 2 or lengths[len(lengths) // 2] < 2:  # seldom or always the same: that is a finding
        return column
    return Column.of((column.steps[i], column.values[i], column.order[i]) for i in new)


def _rounded_zeros(log: Log, name: str, column: Column) -> None:
    """A rate printed as `0.000` is smaller than its digits can say, and not zero."""
    largest = max((value for value in column.values if math.isfinite(value)), default=0.0)
    unit = next((10.0**-digits for digits in range(1, 8) if _all_whole(column.values, 10.0**digits)), 0.0)
    if 0.0 in column.values and unit / 2 < largest < FEW_UNITS * unit:
        log.rounded[name] = unit / 2


def _all_whole(values: Iterable[float], scale: float) -> bool:
    return all(abs(value * scale - round(value * scale)) < 1e-6 for value in values if math.isfinite(value))


def _drop_talk(log: Log) -> None:
    """Numbers that nobody knows and that came now and then are talk, not metrics."""
    steps = {name: len(set(column.steps)) for name, column in log.columns.items()}
    needed = max(SEEN, SHARE * max(steps.values(), default=0))
    for name, count in steps.items():
        if read_name(name).kind == "other" and count < needed:
            del log.columns[name]


def _skipped_steps(log: Log) -> None:
    """0 where a step was logged, 1 where one was skipped; a norm printed only on overflow is not a vital."""
    skipped = log.columns.pop(SKIPS, None)
    if skipped is None:
        return
    for name, column in list(log.columns.items()):
        kind = read_name(name).kind
        if kind == "grad_norm" and not any(math.isfinite(value) for value in column.values):
            log.note(f"{name} is only printed when a step overflows: read as {len(column)} skipped steps.")
            del log.columns[name]
        elif kind == "skipped":  # a running count of the same
            del log.columns[name]
    made = sorted({step for column in log.columns.values() for step in column.steps} - set(skipped.steps))
    steps = sorted([*((s, 1.0) for s in skipped.steps), *((s, 0.0) for s in made)])
    log.columns[SKIPS] = Column.of((step, skip, step) for step, skip in steps)
