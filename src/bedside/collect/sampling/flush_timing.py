"""When rows are written: seldom enough to cost nothing, often enough that a crash loses little."""

from __future__ import annotations

import time

from bedside.collect.sampling.intervals import FULL_STEPS, GRACE_STEPS

STEPS = 20  # fetched in one transfer, at least: amortises the wait for a device
APART = 0.2  # seconds between two of them, when steps are quick: nobody needs an alarm sooner
LATER = 0.8  # the same after the first hundreds of steps: with the flush itself, a crash loses less than a second
MOST = 5000  # steps that wait at most: bounds the memory, however quick they are
SECONDS = 0.8  # what waits longer is flushed however little it is, where fetching makes nobody wait
DEVICE_SECONDS = 30.0  # the same where it does: there a crash loses up to 20 steps that are slower than 40 ms


class Flushes:
    """Knows when the last one was, and whether the next is due."""

    def __init__(self) -> None:
        self.last = time.perf_counter()

    def due(self, step: int, ended: float | None, waiting: int, *, alarming: bool, on_device: bool) -> bool:
        """After this step, which ended then; so many wait, with or without news, on a device or at hand."""
        since = (ended or self.last) - self.last
        if waiting < STEPS and not alarming:
            return since > (DEVICE_SECONDS if on_device else SECONDS)
        apart = APART if step < GRACE_STEPS else LATER
        return since > apart or waiting >= MOST or step < FULL_STEPS or alarming

    def deadline(self, at_hand: bool) -> float:
        """Of quiet steps, by the clock."""
        return self.last + (SECONDS if at_hand else DEVICE_SECONDS)
