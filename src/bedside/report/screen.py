"""Lines on a terminal: the same words, with colour where there is a terminal that wants it.

NO_COLOR and the terminal's abilities are left to rich, which is loaded only for a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable

from bedside.report.styled_lines import WIDTH, Line, plain
from bedside.wording import printable

LOOKS = {
    "error": "bold red",
    "sick": "bold red",
    "warning": "bold yellow",
    "unclear": "bold yellow",
    "healthy": "bold green",
    "note": "cyan",
    "curve": "blue",
    "strong": "bold",
    "quiet": "dim",
}


def show(lines: Iterable[Line]) -> None:
    """Print lines to standard output."""
    if not sys.stdout.isatty():
        print(plain(lines))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for line in lines:
        console.print(Text.assemble(*((printable(text), LOOKS.get(role, "")) for text, role in line)), soft_wrap=True)


def width() -> int:
    """Columns to write in: the terminal's, but never more than a comfortable line."""
    if not sys.stdout.isatty():
        return WIDTH
    from shutil import get_terminal_size

    return max(60, min(WIDTH, get_terminal_size().columns))
