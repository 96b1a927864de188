"""Whether the task changed at a step: a leap there belongs to the new task, and not to the training."""

from __future__ import annotations

from bedside.record.run import Run

MOST_CHANGES = 10  # changes: more are the way the data come
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
    changes = run.events_of("task_change")
    near = max(STEPS, int(NEAR * run.steps))
    return len(changes) <= MOST_CHANGES and any(e.data["last_seen"] - STEPS <= step <= e.step + near for e in changes)
