"""Text in which 2,31 is 2.31: recognised by the numbers beside the names of losses and metrics, then read with points.

>>> list(with_points(["Epoche 1: Verlust 2,313", "Epoche 2: Verlust 1,5"]))
['Epoche 1: Verlust 2.313', 'Epoche 2: Verlust 1.5']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from bedside.naming.metric_names import read_name

LOOKED_AT = 1_000  # lines among which a log has a reading
MAX_LINE_LENGTH = 2_000  # characters of a line that is looked at
_READING = re.compile(
    r"""(?x)
    (?P<name>[^\W\d]{1,40}(?:[ '’/.-][^\W\d]{1,40}){0,4}) \s{0,4}[:=]?\s{0,4}
    [-+]?(?P<whole>\d{1,15})(?P<mark>[.,])(?P<part>\d{1,15})(?!\d|[.,]\d)
    """
)
_COMMA = re.compile(r"(?<![\d.,\[(])(\d+),(\d+)(?!\d|,\d)")


def with_points(lines: Iterable[str]) -> Iterator[str]:
    """The lines, with points in their numbers where they are written with commas."""
    rest = iter(lines)
    first: list[str] = []
    commas = _has_commas(islice(rest, LOOKED_AT), first)
    whole = chain(first, rest)
    return (_COMMA.sub(r"\1.\2", line) for line in whole) if commas else whole


def _has_commas(lines: Iterable[str], seen: list[str]) -> bool:
    """No reading has a point, and one is no row of thousands like 1,024. What was looked at is kept in `seen`."""
    proven = False
    for line in lines:
        seen.append(line)
        if len(line) > MAX_LINE_LENGTH:
            continue
        for match in _READING.finditer(line):
            if read_name(match["name"]).kind not in ("loss", "metric", "lr", "grad_norm"):
                continue
            if match["mark"] == ".":
                return False
            proven = proven or len(match["part"]) != 3 or match["whole"].startswith("0")
    return proven
