"""What a format is: a name, how to recognise a file of it, and how to read the files of one run."""

from __future__ import annotations

import re
import sqlite3
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bedside.errors import NotARun
from bedside.logs.log import Log

# What reading a damaged file may raise where nobody foresaw the damage: it must not end in a traceback.
BROKEN = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, RecursionError),
    *(struct.error, sqlite3.Error),
)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
HEAD = 8192  # bytes of a file that decide what it is
TELLS_ENCODING = 2**16  # bytes of it among which an accent is looked for
_BINARY = re.compile(rb"[\x00-\x07\x0e-\x1a\x1c-\x1f]")


@dataclass(frozen=True)
class Format:
    """One kind of log.

    `recognises` sees a path and the file's first bytes; `read` gets all files of one run, and which run of them
    when a file holds several (a database of runs), as `parts` lists them.
    """

    name: str
    title: str
    recognises: Callable[[Path, bytes], bool]
    read: Callable[[Sequence[Path], str], Log]
    parts: Callable[[Path], list[str]] | None = None
    is_folder: bool = False  # its file belongs to a folder that is the run, whatever else lies there


class Unreadable(Exception):
    """Raised inside a reader: this file is not what it seemed, and why."""


def head_of(path: Path, size: int = HEAD) -> bytes:
    with open(path, "rb") as file:
        return as_utf8(file.read(size))


def as_utf8(head: bytes) -> bytes:
    encoding = _encoding(head)
    return head if encoding == "utf-8-sig" else head.decode(encoding, errors="replace").encode()


def encoding_of(path: Path) -> str:
    with open(path, "rb") as file:
        return _encoding(file.read(TELLS_ENCODING))


def _encoding(head: bytes) -> str:
    """PowerShell writes what a program prints as UTF-16, and older programs write accents as one byte."""
    if head.startswith(UTF_16):
        return "utf-16"
    if head.isascii() or _BINARY.search(head):
        return "utf-8-sig"
    beyond = {letter for letter in head.decode("utf-8", errors="replace") if not letter.isascii()}
    return "cp1252" if beyond == {"\N{REPLACEMENT CHARACTER}"} else "utf-8-sig"  # not one letter is UTF-8


def text_of(path: Path, most: int) -> str:
    """A whole text file, refused above `most` bytes: what is parsed at once must fit in memory."""
    size = path.stat().st_size
    if size > most:
        raise NotARun(
            f"{path} has {size / 2**20:.0f} MB.",
            expected=f"at most {most / 2**20:.0f} MB in one piece",
            try_="split it, or export the history as CSV or JSON lines, which are read line by line",
        )
    return path.read_text(encoding_of(path), errors="replace")
