"""When loader-speed speaks and when it stays silent."""

from __future__ import annotations

import time

from bedside.finding import NotExamined, Severity
from bedside.preflight.check import Passed
from bedside.preflight.checks.loader_speed import loader_speed
from bedside.preflight.example_setup import examined, examples


class Slow:
    def __iter__(self):
        for _ in range(6):
            time.sleep(0.05)
            yield examples(16)


def test_speaks_in_a_note_when_the_loader_is_far_slower_than_the_step():
    found = examined(loader_speed, train_loader=Slow())
    assert found.severity is Severity.NOTE
    assert found.evidence["batch_s"] >= 0.05


def test_stays_silent_when_batches_are_ready():
    x, y = examples(16)
    found = examined(loader_speed, train_loader=[(x, y)] * 6)
    assert isinstance(found, Passed)
    assert set(found.numbers) == {"first_batch_s", "batch_s", "step_s", "waiting", "workers"}


def test_a_single_batch_is_not_examined():
    assert isinstance(examined(loader_speed, train_loader=[examples(16)]), NotExamined)
