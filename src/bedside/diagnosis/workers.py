"""Work on strangers' files in processes of their own, each with a limit on time and memory.

One process does one job at a time. A job that takes too long has its process killed, one that needs too much memory
gets a MemoryError or ends its process, and the next job begins in a new one; nobody else notices.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection as pipes
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from typing import Any, Generic, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

SECONDS = 120.0  # for one run: a gigabyte of TensorBoard events takes half of that on a slow machine
MEMORY = 2**31  # bytes for one run, besides what the process has at its start
STARTING = 60.0  # seconds for a process to begin: it loads numpy from a cold disk


@dataclass(frozen=True)
class Stopped:
    """Why there is no result: `it took more than 120 seconds`."""

    why: str


def in_workers(
    jobs: Sequence[Job],
    work: Callable[[Job], Result],
    *,
    workers: int,
    seconds: Callable[[Job], float] = lambda job: SECONDS,
    memory: int = MEMORY,
) -> Iterator[tuple[int, Result | Stopped]]:
    """Each job's place with its result, as they are done. `work` must be a function that another process can import."""
    waiting = list(enumerate(jobs))[::-1]
    running: list[_Worker[Job, Result]] = []
    try:
        while waiting or any(each.place is not None for each in running):
            while waiting and len(running) < workers:
                running.append(_Worker(work, memory))
            for each in running:
                if each.place is None and waiting:
                    place, job = waiting.pop()
                    each.begin(place, job, seconds(job))
            yield from _finished(running)
    finally:
        for each in running:
            each.stop()


def _finished(running: list[_Worker[Job, Result]]) -> Iterator[tuple[int, Result | Stopped]]:
    """What is done by the time that anybody is; processes that ended are taken off the list."""
    busy = {each.pipe: each for each in running if each.place is not None}
    soonest = min(each.deadline for each in busy.values())
    ready = pipes.wait(list(busy), timeout=max(0.0, soonest - time.monotonic()))
    for pipe, each in busy.items():
        place, late = each.place, time.monotonic() >= each.deadline
        if place is None or (pipe not in ready and not late):
            continue
        result = each.result() if pipe in ready else Stopped(f"it took more than {each.seconds:.0f} seconds")
        if isinstance(result, _Ready):
            each.has_started()
            continue
        if isinstance(result, Stopped):
            each.stop()
            running.remove(each)
        each.place = None
        yield place, result


class _Ready:
    """What a process says when it has loaded what it needs."""


@dataclass
class _Worker(Generic[Job, Result]):
    """One process, and the job it has."""

    work: Callable[[Job], Result]
    memory: int
    pipe: Any = field(init=False)
    process: SpawnProcess = field(init=False)
    place: int | None = None
    seconds: float = 0.0
    deadline: float = 0.0
    started: bool = False

    def __post_init__(self) -> None:
        context = get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, self.work, self.memory), daemon=True)
        with _deaf_to_interrupts():
            self.process.start()
        theirs.close()

    def begin(self, place: int, job: Job, seconds: float) -> None:
        self.place, self.seconds = place, seconds
        self.deadline = time.monotonic() + (seconds if self.started else STARTING)
        with suppress(OSError):  # it may have ended already, which reading the result will show
            self.pipe.send(job)

    def has_started(self) -> None:
        """Its time begins now, and not when the process was asked for."""
        self.started = True
        self.deadline = time.monotonic() + self.seconds

    def result(self) -> Result | Stopped | _Ready:
        try:
            found: Result | Stopped | _Ready = self.pipe.recv()
        except (EOFError, OSError):
            return Stopped("the process that read it was killed")
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Any, work: Callable[[Any], Any], memory: int) -> None:
    """What a worker does until nobody wants anything from it."""
    _limit_memory(memory)
    with suppress(OSError):  # whoever asked may be gone by now
        pipe.send(_Ready())
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            result = work(job)
        except MemoryError:
            result = Stopped(f"it needs more than {memory / 2**30:.0f} GB of memory")
        with suppress(OSError):
            pipe.send(result)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """What is started here ignores Ctrl-C, which a terminal sends to all processes: the parent ends them itself."""
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's business
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _limit_memory(most: int) -> None:
    """So much more than there is now, where the system can limit it at all."""
    try:
        import resource

        with open("/proc/self/statm", encoding="ascii") as file:
            now = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        wanted = now + most
        resource.setrlimit(resource.RLIMIT_AS, (wanted if hard < 0 else min(wanted, hard), hard))
    except (ImportError, OSError, ValueError):
        return
