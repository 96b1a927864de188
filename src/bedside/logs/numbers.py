"""Numbers as people and programs write them in logs: `1.5E-04`, `8,528`, `nan`, `12%`, `5ms`, `tensor(0.3)`."""

from __future__ import annotations

import math
import re

MISSING = frozenset({"", "na", "n/a", "none", "null", "-", "--", "?"})
NO_NUMBER = frozenset({"none", "null", "n/a"})  # of these, what programs write and no formatter does
_SPECIAL = {
    "nan": math.nan,
    "-nan": math.nan,
    "+nan": math.nan,
    "-nan(ind)": math.nan,
    "1.#qnan": math.nan,
    "inf": math.inf,
    "+inf": math.inf,
    "infinity": math.inf,
    "+infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}
_TENSOR = re.compile(r"tensor\(\s*([^,)]+)")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d*)?")


def number(text: object) -> float | None:
    """The number in a cell; None when the cell is blank or holds something else. NaN is a number here."""
    if isinstance(text, float):
        return text
    if isinstance(text, bool):
        return float(text)
    if isinstance(text, int):
        try:
            return float(text)
        except OverflowError:
            return math.inf if text > 0 else -math.inf
    if not isinstance(text, str):
        return None
    try:
        # float() also takes "1_000" and "١": harmless here, and it is by far the fastest way.
        return float(text)
    except ValueError:
        return _unusual(text.strip().lower())


def _unusual(text: str) -> float | None:
    if text in MISSING:
        return None
    if text in _SPECIAL:
        return _SPECIAL[text]
    if text in ("true", "false"):
        return float(text == "true")
    if len(text) > 64:
        return None
    if _THOUSANDS.fullmatch(text):
        return float(text.replace(",", ""))
    if text.endswith("%"):
        share = number(text[:-1])
        return None if share is None else share / 100
    tensor = _TENSOR.match(text)
    return number(tensor[1]) if tensor else None
