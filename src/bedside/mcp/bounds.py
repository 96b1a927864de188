"""The folder that an agent may look into: paths outside of it are refused, also behind links."""

from __future__ import annotations

import os
from pathlib import Path

from bedside.errors import BadOption, NoSuchPath
from bedside.logs import RunFiles, find_runs


class Bounds:
    """Paths as an agent names them, relative to `root` or absolute."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            raise NoSuchPath(
                f"{self.root} is not a folder.",
                expected="the folder whose runs an agent may read",
                try_="bedside mcp .",
            )
        self._real = self.root.resolve()

    def path(self, name: str) -> str:
        """The path of this name; a BadOption if it leads out of the folder."""
        if "\0" in name or not self._holds(self._real / name):
            raise self._outside(name)
        return os.path.normpath(self.root / name)

    def runs(self, name: str) -> list[RunFiles]:
        """The runs at a path, without those whose files are links to somewhere else."""
        path = self.path(name)
        found = find_runs(path)
        inside = [each for each in found if all(map(self._holds, each.files))]
        if not inside:
            raise self._outside(name)
        return inside

    def run(self, name: str) -> str:
        """The path of one run. Whether there are several is for the reader of it to say."""
        self.runs(name)
        return self.path(name)

    def _holds(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self._real)

    def _outside(self, name: str) -> BadOption:
        return BadOption(
            f"{name!r} is not in the folder that this server may read.",
            expected=f"a path in {self._real}",
            try_="the tool `runs`, which lists what there is",
        )
