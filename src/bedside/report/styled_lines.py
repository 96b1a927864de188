"""Lines of text whose parts have a role, so that a terminal may colour them and a file need not: the same words.

A role is what a part means ("error", "quiet"), never how it looks; `screen.py` chooses the looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from bedside.wording import printable

WIDTH = 100

Span = tuple[str, str]  # the words, and their role ("" for plain)
Line = tuple[Span, ...]


def line(*spans: Span | str) -> Line:
    return tuple((span, "") if isinstance(span, str) else span for span in spans)


def wrapped(*spans: Span | str, first: str = "", rest: str | None = None, width: int = WIDTH) -> list[Line]:
    """The spans broken between words into lines of at most `width`; `rest` indents all but the first one."""
    rest = " " * len(first) if rest is None else rest
    lines: list[list[Span]] = [[(first, "")]]
    room, fresh = width - len(first), True
    for text, role in line(*spans):
        for word in re.findall(r"\s*\S+|\s+$", text):
            if len(word) > room and not fresh:
                lines.append([(rest, "")])
                room, fresh, word = width - len(rest), True, word.lstrip()
            while len(word) > room:  # a single word longer than a line, such as a path
                lines[-1].append((word[:room], role))
                lines.append([(rest, "")])
                room, word = width - len(rest), word[room:]
            lines[-1].append((word, role))
            room, fresh = room - len(word), False
    return [_joined(each) for each in lines]


def _joined(spans: Iterable[Span]) -> Line:
    """Neighbours of one role as one span."""
    joined: list[Span] = []
    for text, role in spans:
        if joined and joined[-1][1] == role:
            joined[-1] = (joined[-1][0] + text, role)
        elif text:
            joined.append((text, role))
    return tuple(joined)


def plain(lines: Iterable[Line]) -> str:
    """The words alone."""
    return "\n".join(printable("".join(text for text, _ in each)).rstrip() for each in lines)
