"""Plain CSV and TSV with a step or epoch column; also the ground that every other CSV format stands on."""

from __future__ import annotations

import csv
import re
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import numpy as np

from bedside.logs.formats.log_format import Format, Unreadable, encoding_of
from bedside.logs.formats.long_tables import Words, columns_of_words, exported_curve, is_long, widened
from bedside.logs.formats.text.bare_splits import name_bare_splits
from bedside.logs.hidden_nan import Numbers, recover_nans, with_gaps, without_gaps
from bedside.logs.log import MAX_COLUMNS, Column, Log
from bedside.logs.numbers import number
from bedside.logs.split_files import read_by_split
from bedside.logs.step_axis import axis_of, find_axis
from bedside.naming.metric_names import read_name
from bedside.naming.name_parts import SPLITS
from bedside.record.missing import MISSING, is_missing

MAX_CELLS = 25_000_000  # numbers of one table, eight bytes each
CELLS_AT_A_TIME = 200_000
MAX_LINE_LENGTH = 2**20
_POINT = re.compile(r"\s*[-+]?\d+\.\d")
_COMMA = re.compile(r"^(\s*[-+]?\d*),(\d+(?:[eE][-+]?\d+)?\s*%?\s*)$")
_THOUSANDS = re.compile(r"\s*[-+]?[1-9]\d{0,2},\d{3}\s*")
COMMENT = "# "  # not "#,loss", where # is a column
LOOKED_AT = 3  # rows that must be all numbers where no column has the step


def delimiter_of(line: str) -> str:
    return max(",\t;|", key=line.count)


def header_of(head: bytes) -> list[str]:
    """The column names in the first line, or nothing if it cannot be a header."""
    if b"\0" in head:
        return []
    lines = head.decode("utf-8-sig", errors="replace").splitlines() if head.strip() else []
    line = next((line for line in lines if not line.startswith(COMMENT)), "")
    delimiter = delimiter_of(line)
    if delimiter not in line or len(line) > MAX_LINE_LENGTH:
        return []
    try:
        names = next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []
    return [name.strip() for name in names] if all(number(name) is None for name in names) else []


def recognises(path: Path, head: bytes) -> bool:
    names = header_of(head)
    kinds = {read_name(name).kind for name in names}
    if is_long(names) or exported_curve(path, names):
        return find_axis(names) is not None
    if find_axis(names) is not None and {"train", "val"} <= {SPLITS.get(name.lower()) for name in names}:
        return True  # `epoch,train,val`
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
    table = read_cells(path)
    renamed = {"Value": exported_curve(path, table.names) or "Value", **(rename or {})}
    names, columns = widened([renamed.get(name, name) for name in table.names], table.columns, table.words)
    log = Log(format)
    if table.damaged:
        log.note(f"{len(table.damaged)} rows are damaged; what is left of them was read.")
    fill_log(log, names, columns)
    blank = blank_may_be_nan and not table.words and any(is_missing(column).any() for column in columns)
    if blank and not any((np.isnan(column) & ~is_missing(column)).any() for column in columns):
        recover_nans(log, names, columns, table.damaged)
    name_bare_splits(log)
    return log


@dataclass
class Table:
    """Header, columns of numbers (MISSING where a cell held none), and the rows that were not as long as the header."""

    names: list[str]
    columns: list[Numbers]
    damaged: set[int]
    words: dict[int, Words]


def read_cells(path: Path) -> Table:
    """All numbers of a table, a few rows at a time: text takes ten times the memory of the numbers in it."""
    with open(path, encoding=encoding_of(path), errors="replace", newline="") as file:
        first = file.readline(MAX_LINE_LENGTH)
        while first.startswith(COMMENT):
            first = file.readline(MAX_LINE_LENGTH)
        delimiter = delimiter_of(first)
        names = [name.strip() for name in next(csv.reader([first], delimiter=delimiter), [])]
        if not names or len(names) > MAX_COLUMNS:
            raise Unreadable("its first line is not a header")
        columns = [array("d") for _ in names]
        words = columns_of_words(names)
        damaged: set[int] = set()
        commas: bool | None = None  # whether 1,25 is 1.25
        for rows in _some_rows(_lines(file), delimiter, len(names), damaged):
            cells = list(zip(*rows, strict=True))
            if commas is None:
                commas = _has_decimal_commas(cells, quoted=delimiter == ",")
            for at, (column, text) in enumerate(zip(columns, cells, strict=True)):
                if at in words:
                    column.extend(map(words[at].code, text))
                    continue
                column.extend(_numbers([_COMMA.sub(r"\1.\2", cell) for cell in text] if commas else text))
            if len(columns) * len(columns[0]) > MAX_CELLS:
                raise Unreadable(f"it has more than {MAX_CELLS // 10**6} million cells")
    numbers = [np.frombuffer(column) if column else np.empty(0) for column in columns]
    for at, each in words.items():
        each.codes = numbers[at]
    return Table(_unique(names), numbers, damaged, words)


def _has_decimal_commas(columns: Iterable[Sequence[str]], *, quoted: bool) -> bool:
    """No number has a point; in a table that commas divide, one must also be no row of thousands like "1,024"."""
    proven = not quoted
    for column in columns:
        for cell in column:
            if _POINT.match(cell):
                return False
            proven = proven or ("," in cell and bool(_COMMA.match(cell)) and not _THOUSANDS.fullmatch(cell))
    return proven


def _lines(file: TextIO) -> Iterator[str]:
    while line := file.readline(MAX_LINE_LENGTH):
        yield line.replace("\0", "")


def _some_rows(lines: Iterator[str], delimiter: str, width: int, damaged: set[int]) -> Iterator[list[list[str]]]:
    """Rows of the header's length, a few at a time; those that had to be padded or cut are noted as damaged."""
    rows: list[list[str]] = []
    done = 0
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        try:
            for row in reader:
                if len(row) == width:
                    rows.append(row)
                elif len(row) > width:
                    if any(cell.strip() for cell in row[width:]):
                        damaged.add(done + len(rows))
                    rows.append(row[:width])
                elif row:
                    damaged.add(done + len(rows))
                    rows.append(row + [""] * (width - len(row)))
                if len(rows) * width >= CELLS_AT_A_TIME:
                    yield rows
                    done, rows = done + len(rows), []
            break
        except csv.Error:
            damaged.add(done + len(rows))
    if rows:
        yield rows


def _numbers(column: Sequence[str]) -> Iterable[float]:
    try:
        return list(map(float, column))  # by far the quickest, and nearly every column is like that
    except ValueError:
        if not any(column):
            return [MISSING] * len(column)
        return [MISSING if not cell or (value := number(cell)) is None else value for cell in column]


def _unique(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    unique = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


def fill_log(log: Log, names: Sequence[str], columns: Sequence[Numbers]) -> None:
    """Columns of numbers into the log, along the best axis there is."""
    gaps = [is_missing(column) for column in columns]
    usable = [name for name, gap in zip(names, gaps, strict=True) if not gap.all()]
    rows = len(columns[0]) if columns else 0
    axis = axis_of(usable, lambda name: with_gaps(columns[list(names).index(name)]), rows)
    log.axis, steps = axis.kind, without_gaps(axis.steps)
    untimed = is_missing(steps)
    if axis.note:
        log.note(axis.note)
    for name, column, gap in zip(names, columns, gaps, strict=True):
        if name in axis.read_from or name not in usable:
            continue
        kept = np.flatnonzero(~(gap | untimed))
        filled = (steps[kept], column[kept], kept.astype(float))
        log.columns[name] = Column(*(array("d", each.tobytes()) for each in filled))
    log.rows = rows


FORMAT = Format("csv", "CSV or TSV with a step or epoch column", recognises, read)
