"""The runs under a folder, and the names under which a browser may ask for them.

A name is looked up among the runs that were found, and never joined to a path: whatever a browser sends, nothing
outside of the folder can be opened.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from bedside.errors import BedsideError, NotARun
from bedside.logs import RunFiles, find_runs
from bedside.record.sqlite.reader import is_run

FRESH = 120.0  # seconds: a run that grew within them is being trained; slow steps are written a minute apart
RESCAN = 3.0  # seconds: a new run appears in the list after that long


class Folder:
    """A folder (or a single run) that is being served."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root)
        if not self.root.exists():
            raise NotARun(
                f"{self.root} does not exist.",
                expected="a folder with runs in it, or one that runs will be written to",
                try_=f"mkdir {self.root}",
            )
        self._real = self.root.resolve()
        self._lock = threading.Lock()
        self._runs: dict[str, RunFiles] = {}
        self._scanned = 0.0

    @property
    def title(self) -> str:
        """What it was called when it was asked for; `.` has a name as well."""
        return str(self.root) if self.root.name else str(self._real)

    def runs(self) -> dict[str, RunFiles]:
        """Runs by name, looked for anew if that was not done just now."""
        with self._lock:
            if time.monotonic() - self._scanned > RESCAN or not self._scanned:
                self._runs = self._scan()
                self._scanned = time.monotonic()
            return self._runs

    def run(self, name: str) -> RunFiles | None:
        """One of them, or None; a name that is not known may belong to a run that has just begun."""
        return self._runs.get(name) or self.runs().get(name)

    def _scan(self) -> dict[str, RunFiles]:
        if is_run(self.root):
            return {self.root.resolve().name: RunFiles(str(self.root), "bedside", (self.root,))}
        try:
            found = find_runs(self.root)
        except BedsideError:  # nothing there yet
            return {}
        return {self._name(each): each for each in found if all(map(self._inside, each.files))}

    def _inside(self, path: Path) -> bool:
        """Whether a path, with its links followed, still lies in the folder."""
        return path.resolve().is_relative_to(self._real if self._real.is_dir() else self._real.parent)

    def _name(self, found: RunFiles) -> str:
        path = Path(found.name.partition("#")[0] if found.part else found.name)
        relative = os.path.relpath(path, self.root)
        name = self._real.name if relative == "." else relative
        return f"{name}#{found.part}" if found.part else name


def signature(found: RunFiles) -> tuple[tuple[int, int], ...]:
    """What changes when a run grows: times and sizes of its files, write-ahead logs included."""
    seen = []
    for each in found.files:
        for path in _files_of(each):
            try:
                status = path.stat()
                seen.append((status.st_mtime_ns, status.st_size))
            except OSError:  # a log that SQLite has just put away
                continue
    return tuple(seen)


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.iterdir() if each.is_file() and not each.name.endswith("-shm"))
    return [path, path.with_name(path.name + "-wal")]


def modified(found: RunFiles) -> float:
    """Seconds since the epoch at which the run last grew."""
    return max((when for when, _ in signature(found)), default=0) / 1e9


def is_growing(found: RunFiles, ended: bool) -> bool:
    """Whether it is being trained, as far as its files show: a killed run has no end mark."""
    return not ended and time.time() - modified(found) < FRESH


def weight(found: RunFiles) -> int:
    """Bytes on disk."""
    return sum(size for _, size in signature(found))
