"""The same batches come again and again, in a way that shuffling would not produce.

## What it sees
Fingerprints of the batches: every step the same one, each batch several times in a row, or the same order every epoch.

## Why it matters
An iterator that is made anew at every step returns its first batch for ever, and the model learns that batch by heart.
A data set that does not divide its samples among its workers gives each batch as often as there are workers. The same
order every epoch makes the gradients of neighbouring batches depend on each other, and an order sorted by class undoes
in one half of the epoch what the other half learnt. A slice that was left in after debugging is learnt by heart.

## How it decides
By equality of fingerprints over `fewest` steps or more. All of these can be meant, so it is a note. Except where the
loop was seen to start a data loader of several batches anew for every forward, and every batch is the same: nobody who
wants one batch draws it again each time, so that is a warning, and needs no more steps than it took to see it. And
except where whole batches differ, and their examples are few: of the first several hundred, `again` times as many as
there are different ones, each has been seen `passes` times, `more` times as many are held out, and a look-up among
these is right more often than the network at its best. Whoever has so many to spare has them to train on.

## When it is wrong
Full-batch training; several updates per batch (policy optimisation, adversarial training); a curriculum.

## What to try
1. `DataLoader(…, shuffle=True)`, and `for batch in loader` rather than `next(iter(loader))` at every step.
2. In an IterableDataset, divide the samples by `torch.utils.data.get_worker_info()`.

## Example
>>> from bedside.testing import a_run
>>> print(*repeated_batches.check(a_run(loss=1.0, batch_fingerprint=[float(i % 20) for i in range(100)])))
DAT104 repeated-batches: The same 20 batches come in the same order in every epoch.

## References
- PyTorch documentation, torch.utils.data: multi-process loading of iterable-style data sets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bedside.analysis.simple_models import TRAINING, on_held_out
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.record.vocabulary import BATCH_FINGERPRINT
from bedside.rules.base import rule
from bedside.wording import count


@dataclass(frozen=True)
class Limits:
    fewest: int = 40  # steps: a pattern of a few batches must have shown itself many times
    rounds: float = 2.0  # times that an order must have come: twice is not chance when batches are shuffled
    again: float = 4.0  # times: by then all examples that there are have been seen
    passes: float = 50.0  # over the data: after that they are known by heart, whatever their number
    more: float = 2.0  # times as many are held out: splits that are meant keep the larger part to train on
    share: float = 0.95  # of the steps that follow the pattern: the last batch of an epoch may be another


@rule("DAT104", severity=Severity.NOTE, needs=[BATCH_FINGERPRINT], limits=Limits())
def repeated_batches(run: Run, limits: Limits) -> Iterator[Finding]:
    marks = run.series(BATCH_FINGERPRINT.name).finite()
    restarted = run.events_of("restarted_loader")
    if restarted and len(np.unique(marks.values)) == 1:
        yield _restarted(marks, int(restarted[0].data["batches"]))
        return
    if (few := _few_examples(run, limits)) is not None:
        yield few
        return
    if len(marks) < limits.fewest:
        return
    pattern = _pattern(marks, limits)
    if pattern is None:
        return
    message, evidence, advice = pattern
    yield repeated_batches.finding(
        message,
        first_step=marks.first_step,
        last_step=marks.last_step,
        confidence=0.9,
        evidence=evidence,
        series=[BATCH_FINGERPRINT.name],
        could_also_be=("This is meant: full-batch training, several updates per batch, a fixed curriculum.",),
        try_=advice,
    )


def _restarted(marks: Series, batches: int) -> Finding:
    return repeated_batches.finding(
        f"Every step starts the data loader anew and sees its first batch; the other {count(batches - 1)} never come.",
        first_step=marks.first_step,
        last_step=marks.last_step,
        confidence=0.95,
        evidence={"distinct_batches": 1, "batches_of_the_loader": batches},
        series=[BATCH_FINGERPRINT.name],
        could_also_be=("One batch is learnt by heart on purpose, and drawn again each time.",),
        try_=("Loop over the loader (for batch in loader), or make the iterator once, before the loop.",),
        severity=Severity.WARNING,
    )


def _few_examples(run: Run, limits: Limits) -> Finding | None:
    facts, held_out = run.config.get(TRAINING), on_held_out(run, carried=False)
    if not isinstance(facts, Mapping) or held_out is None or facts["places"]:
        return None
    different, seen = int(facts["examples"]), run.steps * float(facts["asked"])
    if different * limits.again > int(facts["kept"]) or different * limits.passes > seen:
        return None
    if held_out.examples < limits.more * different or held_out.network <= held_out.simple:
        return None
    return repeated_batches.finding(
        f"There are only {count(different)} different training examples, each of which came about "
        f"{count(round(seen / different))} times, and {count(held_out.examples)} or more are held out: "
        f"{held_out.name}, fitted to these, is {held_out.words(held_out.simple)} on others of them, and the network "
        f"{held_out.words(held_out.network)} at best.",
        first_step=0,
        last_step=max(run.steps - 1, 0),
        confidence=0.85,
        evidence={"different_examples": different, "seen": seen, "held_out": held_out.examples},
        series=[BATCH_FINGERPRINT.name, "val/loss"],
        could_also_be=("So few examples are learnt on purpose.",),
        try_=("Look for a slice that was left in after debugging: print the length of the training set.",),
        severity=Severity.WARNING,
    )


def _pattern(marks: Series, limits: Limits) -> tuple[str, dict[str, int], list[str]] | None:
    values, counts = np.unique(marks.values, return_counts=True)
    distinct = len(values)
    if distinct == 1 or counts.max() >= limits.share * len(marks):
        return (
            "Every step sees the same batch.",
            {"distinct_batches": distinct},
            ["If the data set is larger than this batch: loop over the loader, not next(iter(loader)) at every step."],
        )
    in_a_row = _run_length(marks, limits)
    if in_a_row > 1:
        return (
            f"Every batch comes {in_a_row} times in a row.",
            {"in_a_row": in_a_row, "distinct_batches": distinct},
            ["In an IterableDataset, divide the samples among workers with torch.utils.data.get_worker_info()."],
        )
    period = _period(marks, limits)
    if period > 1:
        return (
            f"The same {count(period)} batches come in the same order in every epoch.",
            {"batches_per_epoch": period},
            ["Shuffle: DataLoader(…, shuffle=True), or sampler.set_epoch(epoch) with a distributed sampler."],
        )
    return None


def _every_step(marks: Series) -> Values:
    """The longest stretch of readings at every step: in longer runs only some batches are looked at."""
    breaks = np.flatnonzero(np.diff(marks.steps) != 1) + 1
    return max(np.split(marks.values, breaks), key=len)


def _run_length(marks: Series, limits: Limits) -> int:
    """How often each batch comes in a row, if that is always equally often; 1 otherwise."""
    closely = _every_step(marks)
    starts = np.flatnonzero(np.r_[True, closely[1:] != closely[:-1]])
    lengths = np.diff(starts)[1:]  # the first and the last may be cut off
    if len(lengths) < 5:
        return 1
    usual = int(np.median(lengths))
    return usual if usual > 1 and float(np.mean(lengths == usual)) >= limits.share else 1


def _period(marks: Series, limits: Limits) -> int:
    """After how many steps the same order comes again; 1 if it does not. Readings may be at some steps only."""
    closely = _every_step(marks)
    again = np.flatnonzero(closely[1:] == closely[0])
    for place in again[:20]:
        period = int(place) + 1
        if period < 2 or marks.last_step - marks.first_step + 1 < limits.rounds * period:
            continue
        if _share_that_agrees(marks, period) >= limits.share:
            return period
    return 1


def _share_that_agrees(marks: Series, period: int) -> float:
    """Of the readings whose place in the period was read before, how many are the same batch again."""
    first: dict[int, float] = {}
    agree = [
        mark == first.setdefault(int(step) % period, mark) for step, mark in zip(marks.steps, marks.values, strict=True)
    ]
    seen_before = len(agree) - len(first)
    return (sum(agree) - len(first)) / seen_before if seen_before else 0.0
