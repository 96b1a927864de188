"""Tables in text: a line of names, then lines of numbers beneath them.

>>> header = header_in("Step | Training Loss | Validation Loss")
>>> [(f.name, f.value) for f in row_of("500 | 1.23 | 1.10", header)]
[('Step', 500.0), ('Training Loss', 1.23), ('Validation Loss', 1.1)]
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from bedside.logs.formats.text.clock import EPOCHS, STEPS
from bedside.logs.formats.text.line_numbers import Found, line_numbers, uncoloured
from bedside.naming.metric_names import read_name
from bedside.naming.name_parts import SPLITS, split_words

MAX_COLUMNS = 60
MAX_LINE_LENGTH = 2_000  # characters of a line that may be part of a table
_CELLS = re.compile(r"[|│\t]|\s{2,}")
_TIME = re.compile(r"\d+(?::\d\d){1,2}")  # fastai's last column
_NAME = re.compile(r"[A-Za-z_#][\w/.@-]*")
SHORT = {"#": "step", "e": "epoch"}  # spaCy's


def header_in(line: str) -> list[str]:
    """The names in a line without numbers, if one of them is a step or an epoch and one a loss or a metric."""
    if len(line) > MAX_LINE_LENGTH:
        return []
    cells = _cells(line)
    if all(map(_NAME.fullmatch, line.split())) and not any(_is_clock(cell) for cell in cells):
        cells = line.split()  # `step loss val_loss`, ` epoch train_loss   val_loss`
    names = [SHORT.get(name.lower(), name) for name in cells]
    if not 2 <= len(names) <= MAX_COLUMNS or not any(map(_is_clock, names)):
        return []
    return _told_apart(names) if any(read_name(name).kind in ("loss", "metric") for name in names) else []


def _is_clock(name: str) -> bool:
    return SHORT.get(name.lower(), name.lower()) in (*STEPS, *EPOCHS)


def _told_apart(names: list[str]) -> list[str]:
    """`Training Loss | Validation Loss | Accuracy`: what comes after both, in notebooks and fastai, is evaluated."""
    splits = [read_name(name).split if read_name(name).kind == "loss" else "" for name in names]
    if not {"train", "val"} <= set(splits):
        return names
    last = max(at for at, split in enumerate(splits) if split)
    evaluated = [read_name(name).kind == "metric" and split_words(name)[0] not in SPLITS for name in names[last:]]
    return names[:last] + [f"val/{name}" if each else name for name, each in zip(names[last:], evaluated, strict=True)]


def row_of(line: str, header: Sequence[str]) -> list[Found]:
    """The numbers of a line under the names of the header; nothing if the line is no such row."""
    if not header or len(line) > MAX_LINE_LENGTH:
        return []
    cells = _cells(uncoloured(line))[: len(header)]
    if len(cells) == 1 or (len(cells) < len(header) and not _CELLS.search(line.strip().replace("  ", " "))):
        cells = line.split()
    if len(cells) != len(header) or any(cell[0].isalpha() and cell.lower() not in ("nan", "inf") for cell in cells):
        return []
    numbers = [
        (name, line_numbers(cell)[:1]) for name, cell in zip(header, cells, strict=True) if not _TIME.match(cell)
    ]
    if not all(found for _, found in numbers):
        return []
    return [Found(name, found[0].value, found[0].total) for name, found in numbers]


def _cells(line: str) -> list[str]:
    return [cell for cell in (cell.strip() for cell in _CELLS.split(line)) if cell]
