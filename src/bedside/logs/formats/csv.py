"""Plain CSV and TSV with a step or epoch column; also the ground that every other CSV format stands on."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Sequence
from pathlib import Path

from bedside.logs.formats.base import Format, Unreadable, encoding_of
from bedside.logs.hidden_nan import recover_nans
from bedside.logs.log import Column, Log
from bedside.logs.numbers import number
from bedside.logs.split_files import read_by_split
from bedside.logs.step_axis import axis_of, find_axis
from bedside.naming.metric_names import read_name

MOST_COLUMNS = 20_000
_POINT = re.compile(r"\s*[-+]?\d+\.\d")
_COMMA = re.compile(r"^(\s*[-+]?\d+),(\d+(?:[eE][-+]?\d+)?\s*)$")
COMMENT = "# "  # not "#,loss", where # is a column
LOOKED_AT = 3  # rows that must be all numbers where no column tells the step


def delimiter_of(line: str) -> str:
    return max(",\t;|", key=line.count)


def header_of(head: bytes) -> list[str]:
    """The column names in the first line, or nothing if it cannot be a header."""
    if b"\0" in head:
        return []
    lines = head.decode("utf-8-sig", errors="replace").splitlines() if head.strip() else []
    line = next((line for line in lines if not line.startswith(COMMENT)), "")
    delimiter = delimiter_of(line)
    if delimiter not in line or len(line) > 2**20:
        return []
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
    return [name.strip() for name in names] if all(number(name) is None for name in names) else []


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    kinds = {read_name(name).kind for name in names}
    if find_axis(names) is None:  # without a step, only a table of nothing but numbers with a loss among them
        return len(names) > 1 and "loss" in kinds and _only_numbers(head, len(names))
    return bool(kinds & {"loss", "metric", "grad_norm"})


def _only_numbers(head: bytes, width: int) -> bool:
    lines = [line for line in head.decode("utf-8-sig", errors="replace").splitlines() if not line.startswith(COMMENT)]
    delimiter = delimiter_of(lines[0])
    rows = [line.split(delimiter) for line in lines[1 : 1 + LOOKED_AT]]
    cells = [cell if delimiter == "," else cell.replace(",", ".") for row in rows for cell in row if cell.strip()]
    return len(rows) == LOOKED_AT and all(len(row) == width for row in rows) and None not in map(number, cells)


def read(paths: Sequence[Path], part: str = "") -> Log:
    return read_by_split(paths, lambda path: read_table(path, "csv", blank_may_be_nan=True))


def read_table(path: Path, format: str, *, blank_may_be_nan: bool = False, rename: dict[str, str] | None = None) -> Log:
    """A table with one row per record. A blank cell is a missing reading unless its siblings say otherwise."""
    names, columns, damaged = cells(path)
    names = [(rename or {}).get(name, name) for name in names]
    log = Log(format)
    if damaged:
        log.note(f"{len(damaged)} rows are damaged; what is left of them was read.")
    numbers = [_numbers(column) for column in columns]
    fill_log(log, names, numbers)
    blank = blank_may_be_nan and any(None in column for column in numbers)
    if blank and not any(cell.strip().lower() in ("nan", "-nan") for column in columns for cell in column):
        recover_nans(log, names, numbers, damaged)
    return log


def _numbers(column: Sequence[str]) -> Sequence[float | None]:
    try:
        return list(map(float, column))  # by far the quickest, and nearly every column is like that
    except ValueError:
        return [number(cell) for cell in column]


def cells(path: Path) -> tuple[list[str], list[tuple[str, ...]], set[int]]:
    """Header, columns of text, and the numbers of the rows that had to be padded or cut to the header's length."""
    with open(path, encoding=encoding_of(path), errors="replace", newline="") as file:
        first = file.readline(2**20)
        while first.startswith(COMMENT):
            first = file.readline(2**20)
        delimiter = delimiter_of(first)
        names = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
        if not names or len(names) > MOST_COLUMNS:
            raise Unreadable("its first line is no header")
        rows: list[list[str]] = []
        damaged: set[int] = set()
        width = len(names)
        reader = csv.reader((line.replace("\0", "") for line in file), delimiter=delimiter)
        while True:
            try:
                for row in reader:
                    if len(row) == width:
                        rows.append(row)
                    elif len(row) > width:
                        if any(cell.strip() for cell in row[width:]):
                            damaged.add(len(rows))
                        rows.append(row[:width])
                    elif row:
                        damaged.add(len(rows))
                        rows.append(row + [""] * (width - len(row)))
                break
            except csv.Error:
                damaged.add(len(rows))
    columns: list[tuple[str, ...]] = list(zip(*rows, strict=True)) if rows else [() for _ in names]
    if delimiter == ";":
        columns = _decimal_points(columns)
    return _unique(names), columns, damaged


def _decimal_points(columns: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """`1,25` between semicolons is 1.25, unless the table has decimal points as well."""
    if any(_POINT.match(cell) for column in columns for cell in column):
        return list(columns)
    return [tuple(_COMMA.sub(r"\1.\2", cell) for cell in column) for column in columns]


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


def fill_log(log: Log, names: Sequence[str], numbers: Sequence[Sequence[float | None]]) -> None:
    """Columns of numbers (None is missing) into the log, along the best axis there is."""
    usable = [name for name, column in zip(names, numbers, strict=True) if any(v is not None for v in column)]
    rows = len(numbers[0]) if numbers else 0
    axis = axis_of(usable, lambda name: numbers[list(names).index(name)], rows)
    log.axis, steps = axis.kind, axis.steps
    if axis.note:
        log.note(axis.note)
    for name, column in zip(names, numbers, strict=True):
        if name in axis.told_by or name not in usable:
            continue
        kept = [i for i, (s, v) in enumerate(zip(steps, column, strict=True)) if v is not None and s is not None]
        log.columns[name] = Column(
            array("d", [steps[i] for i in kept]),  # type: ignore[misc]  # those that are None are not kept
            array("d", [column[i] for i in kept]),  # type: ignore[misc]
            array("d", kept),
        )
    log.rows = rows


FORMAT = Format("csv", "CSV or TSV with a step or epoch column", recognises, read)
