"""Whether the task changed at a step: a leap there belongs to the new task, and not to the training."""

from __future__ import annotations

import re

import numpy as np

from bedside.record.metric_direction import goes_up, is_loss
from bedside.record.run import Run

OF_THE_TASK = frozenset(
    "seq sequence length resolution size stage phase level difficulty curriculum task lesson".split()
)
MAX_CHANGES = 10  # changes: more are the way the data come
NEAR = 0.02  # of the run, and a few steps at least: what follows from the change begins this soon
STEPS = 10


def task_changed(run: Run, step: int) -> bool:
    """Whether inputs of another shape, or another optimizer, came in at about this step.

    >>> from bedside.record.run import Event
    >>> from bedside.testing import a_run
    >>> longer = Event(300, "task_change", {"what": "input shape", "last_seen": 299})
    >>> run = a_run(loss=[1.0] * 600, events=[longer])
    >>> task_changed(run, 302), task_changed(run, 400)
    (True, False)
    """
    near = max(STEPS, int(NEAR * run.steps))
    changes = [(int(event.data["last_seen"]), event.step) for event in run.events_of("task_change")]
    return any(
        last - STEPS <= step <= first + near
        for source in (changes, *_logged(run))
        if len(source) <= MAX_CHANGES
        for last, first in source
    )


def _logged(run: Run) -> list[list[tuple[int, int]]]:
    """Where settings of the task that a log has as columns (a length, a resolution, a stage) took another value."""
    found = []
    for vital in run.vitals:
        if not OF_THE_TASK & set(re.split(r"[^a-z]+", vital.lower())) or is_loss(vital) or goes_up(vital) is not None:
            continue
        series = run.series(vital).finite()
        places = np.flatnonzero(np.diff(series.values))
        found.append([(int(series.steps[place]), int(series.steps[place + 1])) for place in places[: MAX_CHANGES + 1]])
    return found
