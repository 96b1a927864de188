"""Tables in text: a line of names, then lines of numbers beneath them.

>>> header = header_in("Step | Training Loss | Validation Loss")
>>> [(f.name, f.value) for f in row_of("500 | 1.23 | 1.10", header)]
[('Step', 500.0), ('Training Loss', 1.23), ('Validation Loss', 1.1)]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bedside.logs.line_numbers import Found, line_numbers
from bedside.logs.names import read_name
from bedside.logs.text_clock import EPOCHS, STEPS

MOST_COLUMNS = 60
LONGEST = 2_000  # characters of a line that may be part of a table
_CELLS = re.compile(r"[|│\t]|\s{2,}")


def header_in(line: str) -> list[str]:
    """The names in a line without numbers, if one of them is a step or an epoch and one a loss or a metric."""
    if len(line) > LONGEST:
        return []
    names = _cells(line)
    if not 2 <= len(names) <= MOST_COLUMNS or not any(name.lower() in (*STEPS, *EPOCHS) for name in names):
        return []
    return names if any(read_name(name).kind in ("loss", "metric") for name in names) else []


def row_of(line: str, header: Sequence[str]) -> list[Found]:
    """The numbers of a line under the names of the header; nothing if the line is no such row."""
    if not header or len(line) > LONGEST:
        return []
    cells = _cells(line)[: len(header)]
    if len(cells) < len(header) or any(cell[0].isalpha() and cell.lower() not in ("nan", "inf") for cell in cells):
        return []
    numbers = [line_numbers(cell)[:1] for cell in cells]
    if not all(numbers):
        return []
    return [Found(name, found[0].value, found[0].total) for name, found in zip(header, numbers, strict=True)]


def _cells(line: str) -> list[str]:
    return [cell for cell in (cell.strip() for cell in _CELLS.split(line)) if cell]
