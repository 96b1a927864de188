"""The network is evaluated on examples that it trains on.

## What it sees
Rows of the validation batches are, number for number, rows of training batches.

## Why it matters
A score on what was trained on says how well it is known by heart. Overfitting cannot show in it, and what is chosen by
it (the epoch, the model) is chosen blindly. Typical: a split that was made and not used, the same loader given twice,
duplicates spread over both parts, augmented copies made before the split.

## How it decides
At every one of `looks` evaluations or more, `share` of the validation rows were among the training rows of the sampled
batches (a part of all), at least `rows` of them, in `forwards` of its forwards; and the evaluation does not repeat its
own rows of whole numbers (more than `repeated` of those found). Where every training batch is the same one, as of a
graph, nothing is said. It is a warning where a loss function was applied to the answers to those rows, in `graded` of
these forwards, and logged as a validation loss: then they are what is scored. Otherwise it is a note: a retrieval
searches its training examples by right, and a picture that is learned is looked at where it was learned.

## When it is wrong
Tasks whose inputs are few and known (all states of a game); a curve of the training data that is logged on purpose.

## What to try
1. Split once, by row (by person, by document), before anything else, and check that the two parts share nothing.
2. Drop duplicates before the split.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> seen = {"rows": 200, "known": 90, "repeated": 0, "forwards": 1, "hits": 1, "graded": 1}
>>> events = [Event(0, "coverage"), *(Event(step, "seen_before", seen) for step in (20, 40, 60))]
>>> print(*seen_before.check(a_run(loss=1.0, events=events)))
DAT114 seen-before: 90 of 200 validation rows are rows of the training batches that were looked at, number for number.

## References
- Kapoor and Narayanan (2023), Leakage and the reproducibility crisis in machine-learning-based science: no clean split.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Run
from bedside.record.vocabulary import BATCH_FINGERPRINT
from bedside.rules.base import rule


@dataclass(frozen=True)
class Limits:
    looks: int = 2  # evaluations
    share: float = 0.02  # of the validation rows: of a run's first batches few are kept
    rows: int = 10  # a handful of duplicates is in most data sets
    forwards: float = 0.9  # in which some were found: with a share of 0.1, one batch of 32 in thirty has none
    repeated: float = 0.25  # of those found: data of few states, which repeat themselves
    graded: float = 0.9  # of the forwards in which some were found: as for `forwards`


@rule("DAT114", severity=Severity.WARNING, needs=[], limits=Limits())
def seen_before(run: Run, limits: Limits) -> Iterator[Finding]:
    looks = run.events_of("seen_before")
    if len(looks) < limits.looks:
        raise NotEnough(f"{limits.looks} evaluations with a logged validation metric, has {len(looks)}")
    marks = run.series(BATCH_FINGERPRINT.name).finite()
    if len(marks) and len(np.unique(marks.values)) == 1:  # a graph, whose nodes are all there in training too
        return
    later = looks[1:]  # at the first one little was known
    if not all(_was_seen(each, limits) for each in later):
        return
    counts = later[-1].data
    scored = all(each.data.get("graded", 0) >= limits.graded * each.data["hits"] for each in later)
    yield seen_before.finding(
        f"{counts['known']} of {counts['rows']} validation rows are rows of the training batches that were looked at, "
        "number for number.",
        severity=None if scored else Severity.NOTE,
        first_step=looks[0].step,
        last_step=max(later[-1].step, run.steps - 1),
        confidence=0.9,
        evidence=dict(counts),
        series=["val/loss", "loss"],
        could_also_be=(
            "A curve of the training data that is logged on purpose.",
            "" if scored else "A retrieval that searches its training examples, or a picture that is learned.",
        ),
        try_=(
            "Split once, before anything else, and check that the two parts share no row.",
            "Drop duplicates before the split, and split before augmenting.",
        ),
    )


def _was_seen(look: Event, limits: Limits) -> bool:
    counts = look.data
    enough = counts["known"] >= max(limits.rows, limits.share * counts["rows"])
    return bool(
        enough
        and counts["hits"] >= limits.forwards * counts["forwards"]
        and counts["repeated"] <= limits.repeated * counts["known"]
    )
