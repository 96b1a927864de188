"""Several tasks on one loss and one trunk: how each began and ended, and what it counts.

A loss of several tasks falls with the largest of them, whatever becomes of the others. Each task's own loss was read
now and then during the run; all are means without a weight, and the weights, where they are constants, are known.

>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> facts = [{"name": name, "weight": 1.0, "learned": False} for name in ("box", "kind")]
>>> run = a_run(loss=2.0, task_loss={"box": 300.0, "kind": 1.1}, events=[Event(0, "tasks", {"tasks": facts, "shared": True})])
>>> [(task.name, task.start, task.end) for task in tasks(run)]
[('box', 300.0, 300.0), ('kind', 1.1, 1.1)]
"""  # noqa: E501 (the example is one statement)

from __future__ import annotations

from dataclasses import dataclass

from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import TASK_LOSS


@dataclass(frozen=True)
class Limits:
    first: int = 5  # readings that show the start: the first ones are of neighbouring steps
    late: float = 0.25  # of the run, at its end
    fewest: int = 3  # readings there


LIMITS = Limits()


@dataclass(frozen=True)
class Task:
    """One of them: its loss at the start and at the end, and its weight in the sum where that is a constant."""

    name: str
    series: Series
    weight: float | None
    learned: bool  # what it is multiplied by is learned
    start: float
    end: float


def tasks(run: Run, limits: Limits = LIMITS) -> list[Task]:
    """Those that share parameters; none if they were not read at the start and at the end."""
    events = run.events_of("tasks")
    if len(events) != 1 or not events[0].data["shared"]:
        return []
    found = []
    for facts in events[0].data["tasks"]:
        series = run.series(TASK_LOSS.name, facts["name"]).finite()
        late = series.since(int((1 - limits.late) * run.steps))
        if len(late) < limits.fewest or len(series) < limits.first + len(late):
            return []
        start, end = series.head(limits.first).median(), late.median()
        found.append(Task(facts["name"], series, facts["weight"], bool(facts["learned"]), start, end))
    return found
