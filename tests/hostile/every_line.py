"""Every line of ours that a training executes, interrupted: at its first, its second, a middle and its last time.

A counting run tells how often each line is executed. Each trial is a training of its own in a forked process, so that
one that is harmed harms no other; what is imported late was imported before, so imports are not interrupted. How often
a line is executed depends on the clock, too: a trial whose line was not reached that often is not counted as one.
"""

from __future__ import annotations

import gc
import os
import pickle
import random
import shutil
import signal
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from tests.hostile.interrupted import OURS, Interrupt, Line, left_behind, possible_states, trained, trains_on
from tests.hostile.interrupted import PROGRAMS as PROGRAMS

from bedside.collect.sampling import budget as budget_module

TOO_LONG = 120  # seconds for one trial


@dataclass(frozen=True)
class Trial:
    """A training that is interrupted when this line is executed for the n-th time."""

    which: str
    line: Line
    hit: int
    number: int  # of the trials of this line

    def __str__(self) -> str:
        return f"{self.which}: {self.line[0].removeprefix(OURS)}:{self.line[1]}, time {self.hit}"


@dataclass(frozen=True)
class Outcome:
    """What became of it; the words are empty where all is well."""

    interrupted: bool
    broken: str = ""
    left: str = ""
    different: str = ""


def moments(hits: int) -> list[int]:
    """The first time, the last, the second and a middle one."""
    return list(dict.fromkeys((1, hits, min(2, hits), (hits + 1) // 2)))


def trials_of(which: str, hits: Counter[Line]) -> list[Trial]:
    return [
        Trial(which, line, hit, number)
        for line, count in sorted(hits.items())
        for number, hit in enumerate(moments(count))
    ]


def counted(which: str, folder: Path) -> Counter[Line]:
    interrupt = Interrupt()
    _, _, interrupted = trained(which, folder, interrupt)
    assert not interrupted
    shutil.rmtree(folder)
    return interrupt.hits


def outcome(trial: Trial, folder: Path, states: Sequence[Any]) -> Outcome:
    """In this process."""
    try:
        program, stopped_at, interrupted = trained(trial.which, folder, Interrupt(trial.line, trial.hit))
        left = ", ".join(left_behind(program))
        different = "" if stopped_at in states else "the weights are those of no interrupted training"
        return Outcome(interrupted, "" if trains_on(program) else "it does not train on", left, different)
    except BaseException:
        return Outcome(True, broken=traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def calm() -> None:
    """Samples from the first step on, and no words about recording that has ended."""
    torch.set_num_threads(1)
    budget_module.FULL_RECORDING_SHARE = budget_module.QUICK_STEP_SECONDS = 0.0
    warnings.simplefilter("ignore")


def forked(call: Callable[[], Any]) -> tuple[int, int]:
    """Call it in a process of its own; the process and a pipe with the answer."""
    reads, writes = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            signal.alarm(TOO_LONG)
            os.close(reads)
            with open(writes, "wb") as pipe:
                pickle.dump(call(), pipe)
        finally:
            os._exit(0)
    os.close(writes)
    return process, reads


def answer_of(process: int, reads: int) -> Any:
    """What it said; None if it died."""
    with open(reads, "rb") as pipe:
        said = pipe.read()
    os.waitpid(process, 0)
    return pickle.loads(said) if said else None


def outcomes(trials: Sequence[Trial], folder: Path, at_once: int) -> Iterator[tuple[Trial, Outcome]]:
    """All of them, each in a process of its own, in order."""
    states = {which: possible_states(PROGRAMS[which][0] + PROGRAMS[which][1]) for which in {t.which for t in trials}}
    running: list[tuple[Trial, int, int]] = []
    for number, trial in enumerate([*trials, *[None] * at_once]):
        if len(running) >= at_once or (trial is None and running):
            done, process, reads = running.pop(0)
            yield done, answer_of(process, reads) or Outcome(True, broken="the process died, or took too long")
        if trial is not None:
            place = folder / str(number)
            running.append((trial, *forked(lambda t=trial, p=place: outcome(t, p, states[t.which]))))


def every_line(folder: Path, at_once: int, seconds: float = 1e9) -> dict[str, int | float]:
    """The figures; those that go wrong are printed. After so many seconds no trial is begun."""
    calm()
    planned: list[Trial] = []
    lines: set[Line] = set()
    for which in PROGRAMS:
        counted(which, folder / "imports")
    gc.collect()
    gc.freeze()  # forked processes share what there is until here
    for which in PROGRAMS:
        hits = answer_of(*forked(lambda name=which: counted(name, folder / "counted")))
        lines |= set(hits)
        planned += trials_of(which, hits)
    random.Random(0).shuffle(planned)  # so that a run which is not ended has met a fair sample of the lines
    planned.sort(key=lambda trial: trial.number)  # all lines once, before any of them twice
    print(len(lines), "lines,", len(planned), "trials", flush=True)
    ends, met, began = Counter[str](), set[Line](), time.monotonic()
    for trial, found in outcomes(planned, folder, at_once):
        ends["interrupts"] += found.interrupted
        ends["not_reached"] += not found.interrupted
        met |= {trial.line} if found.interrupted else set()
        for figure, words in (
            ("model_broken", found.broken),
            ("hooks_left", found.left),
            ("weights_different", found.different),
        ):
            ends[figure] += bool(words)
            if words:
                print(f"{figure}: {trial}: {words}", flush=True)
        if sum((ends["interrupts"], ends["not_reached"])) % 500 == 0:
            print(dict(ends), round(time.monotonic() - began), "s", flush=True)
        if time.monotonic() - began > seconds:
            break
    names = ("interrupts", "not_reached", "model_broken", "hooks_left", "weights_different")
    seen = {"distinct_lines": len(lines), "lines_interrupted": len(met)}
    return {**seen, "planned": len(planned), **{each: ends[each] for each in names}}
