"""Boxes of one name and one number to a line, as Stable-Baselines3 prints them: each is one record.

What stands above the step belongs to it as much as what stands below, so a box is read as one line, its step first.

>>> list(in_one_line(["| ep_rew_mean     | 22.1 |", "| total_timesteps | 2048 |", "--------"]))
['total_timesteps: 2048, ep_rew_mean: 22.1', '--------']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from bedside.logs.formats.text.clock import STEPS, counts
from bedside.logs.formats.text.line_numbers import tidy
from bedside.logs.numbers import number
from bedside.naming.name_parts import SPLITS

MAX_ROWS = 200  # of one box
_ROW = re.compile(r"[;\s]*[|│┃]\s*(?P<name>[^\W\d][^|│┃]{0,80}?)\s*[|│┃]\s*(?P<value>[^|│┃]{0,40}?)\s*[|│┃]\s*")


def in_one_line(lines: Iterable[str]) -> Iterator[str]:
    """The lines as they are, but for boxes that hold a step: each of these is one line."""
    box: list[tuple[str, str, str]] = []  # name, value, and the line as it was printed
    heading = ""
    for line in lines:
        row = _ROW.fullmatch(tidy(line)) if line.rstrip()[-1:] in ("|", "│", "┃") else None
        if row is None or len(box) >= MAX_ROWS or any(_named(heading, row["name"]) == name for name, _, _ in box):
            yield from _read(box)  # a rule ends the box, and so does a name that it has already
            box, heading = [], ""
        if row is None:
            yield line
            continue
        if not row["value"]:
            heading = row["name"] if row["name"].endswith("/") else ""
        box.append((_named(heading, row["name"]) if row["value"] else "", row["value"], line))
    yield from _read(box)


def _named(heading: str, name: str) -> str:
    return f"{heading}{name}" if heading[:-1].lower() in SPLITS else name  # `train/loss`, but not `time/fps`


def _read(box: list[tuple[str, str, str]]) -> Iterator[str]:
    rows = [(name, value) for name, value, _ in box if name and number(value) is not None]
    clock = next((row for step in STEPS for row in rows if counts(row[0]) == step), None)
    if clock is None:
        yield from (line for _, _, line in box)
        return
    yield ", ".join(f"{name}: {value}" for name, value in (clock, *(row for row in rows if row != clock)))
