"""The lab's experiments of a run: what each answered, when, and its picture."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from bedside.record.run import Event, Run
from bedside.wording import count, printable

KIND = "experiment"  # of the event that the lab writes
MAX_SHOWN = 30  # the latest count: a loop may run one at every epoch
MAX_CHARACTERS = 4_000  # of one answer
MAX_PICTURE = 200_000  # characters of base64: twice the largest picture that the lab draws
PNG = b"\x89PNG\r\n\x1a\n"


def experiments(run: Run) -> list[dict[str, Any]]:
    """Title, text and picture (a PNG as base64, or None) of the latest experiments, oldest first."""
    return [_shown(event, run.axis) for event in run.events_of(KIND)[-MAX_SHOWN:]]


def _shown(event: Event, axis: str) -> dict[str, Any]:
    text = str(event.data.get("text", ""))
    lines = [printable(line) for line in text[:MAX_CHARACTERS].splitlines()]
    return {
        "title": printable(str(event.data.get("experiment", KIND))),
        "when": f"at {axis} {count(event.step)}",
        "text": "\n".join([*lines, "…"] if len(text) > MAX_CHARACTERS else lines),
        "picture": _picture(event.data.get("picture")),
    }


def _picture(given: Any) -> str | None:
    """Only what is a PNG: a record may come from anywhere."""
    if not isinstance(given, str) or len(given) > MAX_PICTURE:
        return None
    try:
        return given if base64.b64decode(given, validate=True).startswith(PNG) else None
    except (binascii.Error, ValueError):
        return None
