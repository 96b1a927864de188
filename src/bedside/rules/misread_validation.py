"""Validation answers are right, but for another numbering, place or unit of the targets, or the score miscounts them.

## What it sees
Answers that are nearly all wrong, and nearly all right once the held-out labels are renamed one to one, moved by one
place, put through one straight line, or their columns exchanged. Or an accuracy that was logged and is not what the
answers say.

## Why it matters
The network has learned what it should, and the score says the opposite: classes are numbered anew for the held-out part
(another order of folders, an encoder fitted twice), tags slipped by one token, targets are in another unit or order; or
the score is that of the last batch alone, or of answers compared with the wrong labels. Every decision made by it is
wrong.

## How it decides
From the answers and targets of the evaluations' own loss calls, the last `looks` of them. Classes: at most `wrong` of
the answers agree with their labels, while under one renaming (or one place on or back) `right` of them do, over
`labels` classes and `examples` answers. Numbers: the squared error is above the targets' variance, so that a constant
would do better, and a straight line through the answers, or another order of their columns, takes away all but `left`
of that variance. A logged accuracy is that of the last batch where it equals it at all of `same` evaluations or more,
at `same` of them not that of all batches, and no other accuracy is logged, of another task or set. It miscounts where
the answers of the last `looks` evaluations, one for each example, are right more often than it says by `apart`.

## When it is wrong
Held-out data that are meant to be answered in other terms; an accuracy of something else than the loss is given.

## What to try
1. Print the labels of ten held-out examples beside those of ten training examples that look the same.
2. Save the numbering of the classes, and the scaler of the targets, with the training part, and use them for both.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"kind": "classes", "right": 0.02, "renamed": 0.93, "on": 0.2, "back": 0.2, "labels": 5, "examples": 400}
>>> looks = [Event(step, "evaluation_answers", seen) for step in (20, 40, 60)]
>>> print(*misread_validation.check(a_run(loss=1.0, events=looks)))
DAT113 misread-validation: 2 % of 400 validation answers are right, and 93 % would be with the 5 labels renamed one \
to one.

## References
- Sculley et al. (2015), Hidden technical debt in machine learning systems: undeclared consumers of an encoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bedside.analysis.accuracy_and_loss import accuracies
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Run
from bedside.rules.base import rule
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    looks: int = 2  # evaluations: an untrained network may agree with anything once
    wrong: float = 0.4  # of the answers agree as they are
    right: float = 0.7  # of them agree otherwise: no renaming makes that of answers that know nothing
    labels: int = 2  # classes that occur; of one class every answer is a renaming
    examples: int = 60  # answers: with three of each of twenty classes, half agree with some renaming
    each: int = 6  # answers for each class that occurs
    left: float = 0.15  # of the variance: a correlation of 0.92
    same: int = 4  # evaluations: an accuracy of a few batches may agree with that of the last once or twice by chance
    equal: float = 1e-4  # of an accuracy: those that are rounded to four digits count
    apart: float = 0.3  # of all answers: a mean over batches or classes is off by less


@rule("DAT113", severity=Severity.WARNING, needs=[], limits=Limits())
def misread_validation(run: Run, limits: Limits) -> Iterator[Finding]:
    looks = run.events_of("evaluation_answers")
    if len(looks) < limits.looks:
        raise NotEnough(f"{limits.looks} evaluations whose loss is one of torch's functions, has {len(looks)}")
    last = looks[-limits.looks :]
    said = [_said(each, limits) for each in last]
    if not all(said):
        yield from _miscounted(run, looks, limits)
        return
    yield misread_validation.finding(
        said[-1],
        first_step=looks[0].step,
        last_step=max(last[-1].step, run.steps - 1),
        confidence=0.9,
        evidence={key: value for key, value in last[-1].data.items() if isinstance(value, (int, float))},
        series=["val/loss", "loss"],
        could_also_be=("Held-out data that are meant to be answered in other terms.",),
        try_=(
            "Print the targets of ten held-out examples beside those of ten training examples that look the same.",
            "Keep the numbering of classes and the scaler of targets with the training part, and use them for both.",
        ),
    )


def _said(look: Event, limits: Limits) -> str:
    """What the answers of one evaluation are right about, in words; nothing if they are right, or just wrong."""
    counts = look.data
    if counts["examples"] < limits.examples:
        return ""
    if counts["kind"] == "numbers":
        if order := _other_order(counts, limits):
            return order
        if counts["error"] <= counts["spread"] or counts["line"] > limits.left * counts["spread"]:
            return ""
        return (
            f"Validation answers are off by more ({number(counts['error'])}, squared) than a constant would be "
            f"({number(counts['spread'])}), and by {number(counts['line'])} if they are multiplied by "
            f"{number(counts['factor'])} and moved by {number(counts['offset'])}."
        )
    if counts["right"] > limits.wrong or counts["labels"] < limits.labels:
        return ""
    if counts["examples"] < limits.each * counts["labels"]:
        return ""
    begins = f"{percent(counts['right'])} of {counts['examples']} validation answers are right, and "
    if counts["renamed"] >= limits.right:
        return begins + f"{percent(counts['renamed'])} would be with the {counts['labels']} labels renamed one to one."
    moved = max(counts["on"], counts["back"])
    if moved >= limits.right:
        return begins + f"{percent(moved)} agree with the label one place {'on' if moved == counts['on'] else 'back'}."
    return ""


def _other_order(counts: Mapping[str, Any], limits: Limits) -> str:
    spread, error = counts.get("column_spread", 0.0), counts["error"]
    if not error > spread > 0 or counts["reordered"] > limits.left * spread:
        return ""
    order = ", ".join(str(column) for column in counts["order"])
    return (
        f"Validation answers are off by more ({number(error)}, squared) than a constant for each column would be "
        f"({number(spread)}), and by {number(counts['reordered'])} if they are compared with columns {order} of the "
        "targets."
    )


def _miscounted(run: Run, looks: Sequence[Event], limits: Limits) -> Iterator[Finding]:
    """An accuracy that was logged beside answers that say something else."""
    every = accuracies(run)
    for series in every:
        logged = {int(step): float(value) for step, value in zip(series.steps, series.values, strict=True)}
        # An evaluation between two steps is that of the step to come; what it logs belongs to the one before.
        places = [(next((at for at in (each.step - 1, each.step) if at in logged), None), each) for each in looks]
        pairs = [(logged[at], each) for at, each in places if at is not None and "last_right" in each.data]
        if not pairs:
            continue
        reported, now = pairs[-1]
        examples = now.data["examples"]
        of_last = all(abs(value - each.data["last_right"]) <= limits.equal for value, each in pairs)
        other = [each for value, each in pairs if abs(value - each.data["right"]) > limits.equal]
        if of_last and len(every) == 1 and len(other) >= limits.same:  # of several, each may have a loss of its own
            said = (
                f"{series.key} is that of the last batch alone ({number(reported)}, of {now.data['last_examples']} "
                f"answers): of all {examples} answers {percent(now.data['right'])} are right."
            )
        elif len(pairs) >= limits.looks and all(_under_counted(*pair, limits) for pair in pairs[-limits.looks :]):
            said = (
                f"{series.key} says {number(reported)}, and {percent(now.data['right'])} of the {examples} answers "
                "that the loss was computed from are right."
            )
        else:
            continue
        yield misread_validation.finding(
            said,
            first_step=pairs[0][1].step,
            last_step=max(now.step, run.steps - 1),
            confidence=0.9,
            evidence={key: value for key, value in now.data.items() if isinstance(value, (int, float))},
            series=[series.key, "val/loss"],
            could_also_be=("An accuracy of something else than the loss is given.",),
            try_=(
                "Add up the right answers and their number over all batches of an evaluation, and divide at its end.",
                "Print ten answers beside the labels that they are compared with.",
            ),
        )
        return


def _under_counted(reported: float, look: Event, limits: Limits) -> bool:
    """Whether an accuracy is far below the share of right answers, of which there is one for each example."""
    data = look.data
    single = data["rows"] == data["examples"] >= limits.examples
    return bool(single and 0 <= reported <= 1 and data["right"] - reported > limits.apart)
