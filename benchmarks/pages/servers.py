"""A server in a process of its own: started, waited for, its processor time and memory read, stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 120.0  # seconds for a server to answer


@contextmanager
def server(command: Sequence[str | Path], address: str, environment: dict[str, str] | None = None) -> Iterator[int]:
    """Gives the process id; every child ends with it."""
    process = subprocess.Popen(
        list(map(str, command)), env={**os.environ, **(environment or {})}, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait_for(address, process)
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"{process.args} ended with {process.returncode}")
        try:
            urllib.request.urlopen(address, timeout=5).read()
            return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.3)
    raise SystemExit(f"nothing answers at {address}")


def processes_of(leader: int) -> list[Path]:
    """The leader's whole session: a server may have worker processes."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(_stat(folder)[3]) == leader:
                found.append(folder)
        except (OSError, IndexError):
            continue
    return found


def cpu_seconds(leader: int) -> tuple[float, float]:
    """Of the server itself, and of all its processes."""
    spent = {folder.name: sum(map(int, _stat(folder)[11:13])) / TICKS for folder in processes_of(leader)}
    return spent[str(leader)], sum(spent.values())


def megabytes(leader: int) -> float:
    """Resident memory of all its processes; what they share counts in each."""
    total = 0
    for folder in processes_of(leader):
        for line in (folder / "status").read_text().splitlines():
            if line.startswith("VmRSS"):
                total += int(line.split()[1])
    return total / 1024


def _stat(folder: Path) -> list[str]:
    """The fields of /proc/N/stat from the third one (state) on; a name may hold spaces."""
    return (folder / "stat").read_text().rpartition(")")[2].split()
