"""How long the first batch takes, and whether the model will wait for data.

## What it sees
The time to the first batch, the time for each of the next, and the time that a training step takes.

## Why it matters
A loader that is slower than the model leaves the machine idle for most of the run. It costs the same money.

## How it decides
It measures `batches` batches and the quickest of a few steps on this machine, now. More than `starved` of the time
spent waiting is a note: a measurement of seconds is not a verdict.

## When it is wrong
On another machine than the one that trains, and where other programs are busy.

## What to try
1. `num_workers=` as many as cores to spare, `pin_memory=True`, `persistent_workers=True`.
2. Decode and resize once, and store the result.

## Example
>>> import time
>>> from bedside.preflight.example_setup import examined, examples
>>> class Slow:
...     def __iter__(self):
...         for _ in range(6):
...             time.sleep(0.2)
...             yield examples(16)
>>> answer = examined(loader_speed, train_loader=Slow())
>>> print(str(answer).partition(" of the time")[0][:50])
PRE505 loader-speed: The model would wait for data

## References
- Mohan et al. (2021), Analyzing and mitigating data stalls in DNN training.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.preflight.check import Passed, check
from bedside.preflight.setup import GRADIENT, Setup
from bedside.training.loader import readable
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    batches: int = 6  # timed
    steps: int = 3  # timed, of which the quickest counts
    starved: float = 0.5  # of the time is spent waiting for data


@check("PRE505", severity=Severity.NOTE, limits=Limits(), needs=[GRADIENT])
def loader_speed(setup: Setup, limits: Limits) -> Passed | Finding:
    first, later = _batch_times(setup, limits.batches)
    if not later:
        raise NotEnough("two batches or more")
    batch, step = statistics.median(later), _step_time(setup, limits.steps)
    workers = getattr(setup.train_loader, "num_workers", 0)
    waiting = max(0.0, batch - step) / max(batch, step) if workers else batch / (batch + step)
    numbers = {"first_batch_s": first, "batch_s": batch, "step_s": step, "waiting": waiting, "workers": workers}
    said = f"first batch {number(first, 2)} s, then {number(batch, 2)} s each, a step {number(step, 2)} s"
    if waiting <= limits.starved:
        return loader_speed.passed(f"{said}: {percent(waiting)} waiting", **numbers)
    return loader_speed.finding(
        f"The model would wait for data {percent(waiting)} of the time: {said}.",
        confidence=0.6,
        evidence=numbers,
        could_also_be=("A measurement on a busy machine.",),
        try_=("More num_workers, pin_memory=True and persistent_workers=True; decode and resize once.",),
    )


def _batch_times(setup: Setup, batches: int) -> tuple[float, list[float]]:
    times: list[float] = []
    began = time.perf_counter()
    for _ in readable(setup.train_loader):
        now = time.perf_counter()
        times.append(now - began)
        began = now
        if len(times) >= batches:
            break
    return (times[0] if times else 0.0), times[1:]


def _step_time(setup: Setup, steps: int) -> float:
    setup.training.train_mode()
    times = []
    for place in range(steps):
        batch = setup.batch(place)
        began = time.perf_counter()
        loss = setup.training.batch_loss(batch)
        loss.backward()
        float(loss.detach())  # waits for a GPU
        times.append(time.perf_counter() - began)
    return min(times)
