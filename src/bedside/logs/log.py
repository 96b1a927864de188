"""What a reader hands over: columns of numbers as the file had them, before anyone says what they mean.

A reader knows its file's layout and nothing else. `step_axis.py` puts the steps right, `bedside.naming` says what the
columns are, and `to_run.py` makes the Run of both.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bedside.logs.numbers import NO_NUMBER, number
from bedside.record.run import Event

MAX_COLUMNS = 20_000  # metrics of one run: a file with more of them was made to fill the memory


def _numbers() -> array[float]:
    return array("d")  # eight bytes a number; a list of a long run's floats takes four times that


@dataclass
class Column:
    """One metric in the order it was written; `order` is a row number or a clock, to see restarts by."""

    steps: array[float] = field(default_factory=_numbers)
    values: array[float] = field(default_factory=_numbers)
    order: array[float] = field(default_factory=_numbers)

    @classmethod
    def of(cls, readings: Iterable[tuple[float, float, float]]) -> Column:
        """A column from (step, value, order)."""
        column = cls()
        for step, value, order in readings:
            column.append(step, value, order)
        return column

    def append(self, step: float, value: float, order: float) -> None:
        self.steps.append(step)
        self.values.append(value)
        self.order.append(order)

    def __len__(self) -> int:
        return len(self.values)

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        return np.asarray(self.steps), np.asarray(self.values), np.asarray(self.order)


@dataclass
class Log:
    """One run as its file has it, with whatever else the file tells about it."""

    format: str
    axis: str = "step"
    columns: dict[str, Column] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    finished: bool | None = None
    keeps_order: bool = True  # columns come in model order; W&B shuffles them
    sets: set[str] = field(default_factory=set)  # evaluation sets that the file names
    parts_add_up: bool = False  # its part losses are weighted already: their sum is the loss, as in Ultralytics
    rounded: dict[str, float] = field(default_factory=dict)  # what a reading of 0.0 may be at most, by column
    rows: int = 0
    blanks: dict[str, list[tuple[float, float]]] = field(default_factory=dict)  # step and order of each `None` written

    def blank(self, name: str, step: float, order: float) -> None:
        """Somebody wrote down that there is no number."""
        self.blanks.setdefault(name, []).append((step, order))

    def add(self, name: str, step: float, value: float, order: float) -> None:
        column = self.columns.get(name)
        if column is None:
            column = self.column(name)
            if column is None:
                return
        column.append(step, value, order)

    def column(self, name: str) -> Column | None:
        """The column of this name; none if there are too many names already."""
        if name not in self.columns:
            if len(self.columns) >= MAX_COLUMNS:
                self.note(f"It has more than {MAX_COLUMNS:,} metrics: the others were left out.")
                return None
            self.columns[name] = Column()
        return self.columns[name]

    def add_row(self, step: float, row: Mapping[str, object], skip: Sequence[str] = ()) -> None:
        """The numbers of one record; what is not a number (a remaining time, a name) is left out."""
        for name, cell in row.items():
            if name in skip:
                continue
            value = number(cell)
            if value is not None:
                self.add(name, step, value, self.rows)
            elif cell is None or str(cell).lower() in NO_NUMBER:
                self.blank(name, step, self.rows)
        self.rows += 1

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def __bool__(self) -> bool:
        return any(len(column) for column in self.columns.values())
