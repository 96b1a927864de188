"""When rows are written: rarely enough to cost nothing, often enough that a crash loses little."""

from __future__ import annotations

import time

from bedside.collect.sampling.intervals import EARLY_STEPS, GRACE_STEPS

MIN_STEPS = 20  # fetched in one transfer, at least: amortises the wait for a device
EARLY_SECONDS = 0.2  # seconds between two of them, when steps are quick: nobody needs an alarm sooner
LATER_SECONDS = (
    0.8  # the same after the first hundreds of steps: with the flush itself, a crash loses less than a second
)
MAX_WAITING_STEPS = 5000  # steps that wait at most: bounds the memory, however quick they are
MAX_SECONDS = 0.8  # what waits longer is flushed however little it is, where fetching makes nobody wait
MAX_DEVICE_SECONDS = 30.0  # the same where it does: there a crash loses up to 20 steps that are slower than 40 ms


class Flushes:
    """Knows when the last one was, and whether the next is due."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def due(self, step: int, ended: float | None, waiting: int, *, alarming: bool, on_device: bool) -> bool:
        """After this step, which ended then; so many wait, with or without news, on a device or on the CPU."""
        since = (ended or self.last) - self.last
        if waiting < MIN_STEPS and not alarming:
            return since > (MAX_DEVICE_SECONDS if on_device else MAX_SECONDS)
        apart = EARLY_SECONDS if step < GRACE_STEPS else LATER_SECONDS
        return since > apart or waiting >= MAX_WAITING_STEPS or step < EARLY_STEPS or alarming

    def deadline(self, on_cpu: bool) -> float:
        """Of fast-path steps, by the clock."""
        return self.last + (MAX_SECONDS if on_cpu else MAX_DEVICE_SECONDS)
