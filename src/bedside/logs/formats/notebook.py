"""Jupyter notebooks: what training cells printed, from Keras bars and HF or fastai tables to bare losses.

A cell that printed a curve is a run; a notebook with several of them holds several runs. Curves that were printed
over many cells, a few readings each, are read as one.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bedside.logs.formats.log_format import Format, Unreadable, text_of
from bedside.logs.formats.text.lines import read_lines
from bedside.logs.formats.text.tables import header_in
from bedside.logs.log import Log
from bedside.logs.numbers import number
from bedside.naming.metric_names import read_name

MAX_BYTES = 2**28
MIN_READINGS = 3  # of a loss or a metric: a final score is not a curve
_TABLE = re.compile(r"(?is)<table\b.*?</table>")
_ROW = re.compile(r"(?is)<tr\b.*?</tr>")
_CELL = re.compile(r"(?is)<t[hd]\b[^>]*>(.*?)</t[hd]>")
_TAG = re.compile(r"(?s)<[^>]{0,500}>")


def recognises(path: Path, head: bytes) -> bool:
    return head.lstrip().startswith(b"{") and (path.suffix.lower() == ".ipynb" or b'"nbformat"' in head)


def parts(path: Path) -> list[str]:
    """The cells that printed a curve, by their place in the notebook; one nameless part if only all of them did."""
    cells = _printed(path)
    found = [f"cell-{place}" for place, lines in cells.items() if _readings(read_lines(lines)) >= MIN_READINGS]
    together = [line for lines in cells.values() for line in lines]
    return found or ([""] if _readings(read_lines(together)) >= MIN_READINGS else [])


def read(paths: Sequence[Path], part: str = "") -> Log:
    cells = _printed(paths[0])
    if part:
        place = number(part.removeprefix("cell-"))
        if place not in cells:
            raise Unreadable(f"it has no {part} that printed anything")
        lines = cells[int(place or 0)]
    else:
        lines = [line for each in cells.values() for line in each]
    log = read_lines(lines)
    if not log:
        raise Unreadable("no cell of it printed a loss or a metric with a step")
    log.format = "notebook"
    return log


def _readings(log: Log) -> int:
    """How long the longest curve of a loss or a metric is."""
    return max((len(c) for name, c in log.columns.items() if read_name(name).kind in ("loss", "metric")), default=0)


def _printed(path: Path) -> dict[int, list[str]]:
    """What each code cell printed, in lines, by the cell's place (the first is 1)."""
    try:
        notebook = json.loads(text_of(path, MAX_BYTES))
    except (ValueError, RecursionError) as broken:
        raise Unreadable(f"it is not JSON ({broken})") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise Unreadable("it has no cells")
    found: dict[int, list[str]] = {}
    for place, cell in enumerate(cells, 1):
        outputs = cell.get("outputs") if isinstance(cell, dict) else None
        lines = [line for each in outputs or () if isinstance(each, dict) for line in _lines(each)]
        if lines:
            found[place] = lines
    return found


def _lines(output: Mapping[str, Any]) -> Iterator[str]:
    """The lines of one output; a progress bar ends its lines with carriage returns or rubs them out."""
    data = output.get("data")
    shown = data if isinstance(data, Mapping) else {}
    tables = _TABLE.findall(_joined(shown.get("text/html")))
    if tables:
        for table in tables:
            yield from _rows(table)
        return
    text = _joined(output.get("text")) or _joined(shown.get("text/plain"))
    yield from text.replace("\b", "").splitlines()


def _joined(text: object) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else text if isinstance(text, str) else ""


def _rows(table: str) -> Iterator[str]:
    """`Step: 500, Training Loss: 1.2` for each row; `No log` and other words are left out."""
    rows = [[html.unescape(_TAG.sub("", cell)).strip() for cell in _CELL.findall(row)] for row in _ROW.findall(table)]
    header = header_in(" | ".join(rows[0])) if rows else []
    for row in rows[1:]:
        if len(row) == len(header):
            named = zip(header, row, strict=True)
            yield ", ".join(f"{name}: {cell}" for name, cell in named if number(cell) is not None)


FORMAT = Format("notebook", "a Jupyter notebook whose cells printed losses", recognises, read, parts)
