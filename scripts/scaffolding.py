"""What new_rule.py and new_vital.py share: they create files, add a line, and never overwrite anything."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from bedside.errors import BadOption, BedsideError

ROOT = Path(__file__).resolve().parent.parent


def refuse_existing(*paths: Path) -> None:
    for path in paths:
        if path.exists():
            raise BadOption(
                f"{path.relative_to(ROOT)} is already there.",
                expected="a name that nothing has yet; scaffolding never overwrites",
                try_=f"open {path.relative_to(ROOT)}",
            )


def create(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    print(f"created {path.relative_to(ROOT)}")


def edit(path: Path, change: Callable[[list[str]], list[str]]) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
    print(f"edited  {path.relative_to(ROOT)}")


def insert_before(lines: list[str], new: list[str], where: Callable[[str], bool], after: str) -> list[str]:
    """`new` before the first line that `where` accepts, looking only below the line that begins with `after`."""
    start = next(index for index, line in enumerate(lines) if line.startswith(after)) + 1
    place = next(index for index in range(start, len(lines)) if where(lines[index]))
    return [*lines[:place], *new, *lines[place:]]


def main(run: Callable[[], None]) -> None:
    try:
        run()
    except BedsideError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
