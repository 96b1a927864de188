"""Anything a user may put into a config or an event, as JSON text and back.

NaN and ±inf are written as Python's own tokens, which `json.loads` reads back: these texts are read by bedside
alone, and whoever shows them to a browser encodes them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from typing import Any

import numpy as np


def to_text(value: Any) -> str:
    try:
        return json.dumps(_plain(value), ensure_ascii=False)
    except (RecursionError, ValueError):  # it holds itself, or is nested without end: its type is all there is to say
        return json.dumps(f"<{type(value).__name__}>")


def from_text(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its JSON is nested too deeply") from None


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, bool | str | None):
        return value
    if isinstance(value, int):
        return int(value)  # an IntEnum too is its number
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [each if type(each) is str else _plain(each) for each in value]
    if isinstance(value, Set):
        return sorted((_plain(each) for each in value), key=str)
    return str(value)  # a device, a path, a class: its name is what a reader wants to see
