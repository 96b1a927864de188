"""A progress bar on a terminal's error stream; nothing where nobody is looking."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def progress(items: Iterable[Item], what: str, *, total: int | None = None, show: bool | None = None) -> Iterator[Item]:
    """The items one by one; `show` True or False overrides whether there is a terminal."""
    if not (sys.stderr.isatty() if show is None else show):
        yield from items
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(items, what, total=total, console=Console(stderr=True), transient=True)
