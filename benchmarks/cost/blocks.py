"""Several trainings take turns, a block of steps each, and their processor time is compared.

A machine that others use as well is quick one second and slow the next. So a block of each way of watching is made
between two unwatched blocks. What counts is the ratio of all watched steps to all unwatched ones beside them: a median
of blocks would leave out what happens rarely, which is how bedside works. Where a process happens to put its memory
makes a difference of a few per cent for as long as it lives. So whatever can be set aside is measured against the same
training without it, and small costs in several starts; other people's tools against a process of its own. The range is
that of 95 of 100 drawings with replacement, of starts and of the blocks in each.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple, Protocol

import numpy as np

HERE = Path(__file__).resolve().parent.parent
DRAWINGS = 2000
SLOW = 20  # times the unwatched step


class Died(Exception):
    """A worker ended before it should; the message is the last line it said."""


class Turns(Protocol):
    """Makes steps when asked; returns seconds of processor time per step, and those inside the watcher."""

    def make(self, steps: int) -> dict[str, float]: ...


class Worker:
    """A training that makes steps when asked."""

    def __init__(self, python: Path, workload: str, place: str, *, fused: bool, tool: str = "") -> None:
        # A folder of its own: for what tools write, and so that Python finds nobody else's modules beside it.
        self._folder = tempfile.TemporaryDirectory(prefix="bedside-cost-", ignore_cleanup_errors=True)
        self._errors = Path(self._folder.name) / "errors.txt"
        path = os.pathsep.join([str(HERE), str(HERE.parent / "src")])  # this tree's bedside, whichever is installed
        env = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TMPDIR": self._folder.name}
        command = [str(python), "-m", "cost.worker", workload, place, *(["--fused"] if fused else [])]
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=env | {"BEDSIDE_COST_TOOL": tool},
                cwd=self._folder.name,
            )

    def make(self, steps: int) -> dict[str, float]:
        return {key: value / abs(steps) for key, value in self._ask(steps).items()}

    def _ask(self, steps: int) -> dict[str, float]:
        try:
            self._process.stdin.write(f"{steps}\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            said = [each for each in self._errors.read_text(errors="replace").splitlines() if each.strip()]
            raise Died(said[-1] if said else "nothing was said")
        return json.loads(line)

    def end(self) -> None:
        self._process.stdin.close()
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


class Unwatched:
    """The steps of a worker's training that nobody watches."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def make(self, steps: int) -> dict[str, float]:
        return self._worker.make(-steps)


class Block(NamedTuple):
    """Seconds a step."""

    watched: float
    unwatched: float  # beside it
    own: float  # of the watched ones, those inside the watcher; NaN where nobody knows
    reading: float  # and of these, those in which numbers are neither written down nor judged


@dataclass
class Measured:
    """What was found of one way of watching."""

    starts: list[list[Block]] = field(default_factory=list)
    note: str = ""

    def percent(self) -> tuple[float, float, float]:
        """The cost in per cent of the unwatched step, and the range it lies in."""
        starts = [np.asarray(blocks) for blocks in self.starts if blocks]
        random = np.random.default_rng(0)
        drawn = []
        for _ in range(DRAWINGS):
            some = [starts[i] for i in random.integers(len(starts), size=len(starts))]
            drawn.append(_ratio([blocks[random.integers(len(blocks), size=len(blocks))] for blocks in some]))
        return tuple(100 * (float(each) - 1) for each in (_ratio(starts), *np.percentile(drawn, [2.5, 97.5])))

    @property
    def rounds(self) -> int:
        return sum(map(len, self.starts))

    @property
    def base_ms(self) -> float:
        return 1e3 * median(block.unwatched for block in self._blocks)

    @property
    def own_us(self) -> float:
        """Microseconds a step inside the watcher, all in all."""
        return 1e6 * fmean(block.own for block in self._blocks)

    @property
    def inside(self) -> float:
        """Reading in per cent of the unwatched step, in the usual block: without rows, rules, what happens rarely,
        whoever else used the machine, and what the watcher's own memory takes from the caches."""
        return 100 * median(block.reading / block.unwatched for block in self._blocks)

    @property
    def _blocks(self) -> list[Block]:
        return [block for blocks in self.starts for block in blocks]

    def __iadd__(self, other: Measured) -> Measured:
        """Further starts of the same."""
        self.starts += other.starts
        self.note = self.note or other.note
        return self


def _ratio(starts: Sequence[np.ndarray]) -> float:
    watched, unwatched = np.concatenate(starts)[:, :2].sum(axis=0)
    return watched / unwatched


def take_turns(
    unwatched: Turns, watched: Mapping[str, Worker], *, warm_up: Mapping[str, int], block: int, rounds: int
) -> dict[str, Measured]:
    """Warm all up, then let them take turns. Whoever dies is left out from there on, and its last words are noted; one
    that takes many times the unwatched step makes shorter blocks."""
    found = {name: Measured([[]]) for name in watched}
    living = dict(watched)
    blocks = dict.fromkeys(watched, block)

    def make(name: str, steps: int) -> dict[str, float] | None:
        try:
            return living[name].make(steps)
        except Died as death:
            found[name].note = str(death)[:200]
            del living[name]
            return None

    plain = unwatched.make(max(2, min(20, block)))["cpu"]
    for name in list(living):
        make(name, 1)
        first = make(name, 2) if name in living else None
        if first is not None and first["cpu"] > SLOW * plain:
            blocks[name] = max(1, block // 20)
        elif first is not None:
            make(name, warm_up[name])
        print(f"    {name}: ready" if name in living else f"    {name}: {found[name].note}", file=sys.stderr)
    for _ in range(rounds):
        before = unwatched.make(block)["cpu"]
        for name in list(living):
            took = make(name, blocks[name])
            after = unwatched.make(block)["cpu"]
            if took is not None:
                inside = took.get("own", math.nan), took.get("reading", math.nan)
                found[name].starts[-1].append(Block(took["cpu"], (before + after) / 2, *inside))
            before = after
    return found


def end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.end()
