"""The model is shown the answer that it is asked for.

## What it sees
A column of the input, or a few, that hold one number for each class and another for every other: the label under
another name; or a column that puts the examples into the very order of their targets. Tokens that are asked for at the
place where they stand. Or a model whose task is the next token, and whose answers change when a token further on is
changed. Or a model that tells each number of its input from those before it, and
whose answer at a place changes with that very number.

## Why it matters
Training and validation are as good as perfect, because both have the answer, and the model is of no use where it has
not. Nothing fails, and the curves look like success.

## How it decides
By proof, on the run's own data. For the label: no number of the column occurs in two classes, or two in one class, over
several hundred different examples or more. For a number: the column rises, or falls, with the target without one
exception. For tokens: `same` of the targets are the token at that very place; of a decoder that gets its target beside
a source, which it may move by one itself (teacher forcing), the loss must also come down to `copied` of its first level
within `soon` steps, as only copying does. For the next token: the batch goes
through the model once more with one token changed, and answers before it change by more than rounding. Where the target
is the input itself, one number of it is changed: no answer before that place changes, as in no autoencoder, and the
answer at the place does. A model that is told a time step, as those that take noise away, and is asked for its own
input: nothing on the way is narrower than that, and the loss comes down to `itself` of its first level.

## When it is wrong
A task whose answer is in the input on purpose: recalling a code that was given, a feature that defines the class, an
autoencoder of token sequences.

## What to try
1. Drop the columns that are named, or look where they come from.
2. Move the targets by one: `inputs, targets = ids[:, :-1], ids[:, 1:]`; put the mask token where it is masked.
3. Give the attention its causal mask (`is_causal=True`), and pad convolutions at the front only.

## Example
>>> from bedside.record.run import Event
>>> from bedside.testing import a_run
>>> leak = {"leak": True, "examples": 455, "classes": 2, "columns": 1, "first": 30, "of": 31}
>>> print(*leaked_answer.check(a_run(loss=0.1, events=[Event(0, "coverage"), Event(8, "label_in_input", leak)])))
DAT108 leaked-answer: Column 30 of the 31 inputs tells the class alone: one number for each of 2, in all of 455 \
examples.

## References
- Kapoor and Narayanan (2023), Leakage and the reproducibility crisis in machine-learning-based science.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bedside.analysis.skipped_trials import not_tried
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Event, Run
from bedside.record.vocabulary import LOSS
from bedside.rules.base import rule
from bedside.wording import count, number


@dataclass(frozen=True)
class Limits:
    same: float = 0.98  # of the targets are their own token: special tokens may be the exception
    asked: int = 64  # targets of a batch: fewer are alike by chance
    kinds: int = 5  # of target: few kinds are alike by chance too
    looks: int = 3  # batches, all of which must be so
    copied: float = 0.05  # of the first loss: a decoder that reads its answer gets there at once
    itself: float = 0.02  # of the first loss: what only has to be handed on; an autoencoder loses more on the way
    soon: int = 200  # steps: a healthy decoder of reversed words, which is taught so, is at a half of it by then
    smooth: int = 5  # losses: one batch is not enough


@rule("DAT108", severity=Severity.ERROR, needs=[], limits=Limits())
def leaked_answer(run: Run, limits: Limits) -> Iterator[Finding]:
    if not run.events_of("coverage"):
        raise NotEnough("inputs and targets (a watched run)")
    found = list(_leaks(run, limits))
    if not found and (why := not_tried(run, "leaked future")):  # of a model of sequences, for which it is what counts
        raise NotEnough(why)
    if not found and not _looked(run):
        raise NotEnough("batches whose rows are those of their targets, 256 examples of them")
    yield from found


def _looked(run: Run) -> bool:
    """Whether inputs and answers could be laid side by side: of sparse or hidden inputs nobody knows."""
    compared = ("labels_compared", "targets_compared")
    kinds = ("answers_in_place", "label_in_input", "target_in_input", "future_seen", "own_place_seen")
    return any(name in run.config for name in compared) or any(run.events_of(kind) for kind in kinds)


def _leaks(run: Run, limits: Limits) -> Iterator[Finding]:
    labels = run.events_of("label_in_input")[-1:]  # the last word counts: what agreed by chance is taken back
    if labels and labels[0].data["leak"]:
        yield _label(run, labels[0])
    for event in run.events_of("target_in_input")[:1]:
        yield _target(run, event)
    in_place = run.events_of("answers_in_place")
    in_sight = len(in_place) >= limits.looks and all(_is_in_place(event, limits) for event in in_place)
    if in_sight and (not in_place[0].data.get("beside") or _is_copied(run, limits)):
        yield _token(run, in_place[0])
    for event in run.events_of("future_seen")[:1]:
        yield _future(run, event)
    for event in run.events_of("own_place_seen")[:1]:
        yield _own_place(run, event)
    for event in run.events_of("asked_for_its_input")[:1]:
        narrowest = int(event.data["narrowest"])
        if (not narrowest or narrowest >= int(event.data["columns"])) and _is_handed_on(run, limits):
            yield _its_input(run, event)


def _is_handed_on(run: Run, limits: Limits) -> bool:
    losses = run.loss.finite()
    few = 2 * limits.smooth
    return len(losses) > 2 * few and losses.median(few) <= limits.itself * losses.head(limits.smooth).median()


def _label(run: Run, event: Event) -> Finding:
    data = event.data
    first, columns, classes = int(data["first"]), int(data["columns"]), int(data["classes"])
    if columns == 1:
        who = (
            f"Column {first} of the {count(data['of'])} inputs tells the class alone: one number for each of {classes}"
        )
    else:
        who = f"{count(columns)} of the {count(data['of'])} inputs (from column {first}) are the class in other words"
    return leaked_answer.finding(
        f"{who}, in all of {count(data['examples'])} examples.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.95,
        evidence=dict(data),
        series=[LOSS.name],
        could_also_be=("a feature that defines the class: then no model is needed to tell it.",),
        try_=(
            f"Train without column {first}: if the loss is far higher, the model had read the answer there."
            if columns == 1
            else f"Train without these {count(columns)} columns: if the loss is far higher, the model had read them.",
        ),
    )


def _target(run: Run, event: Event) -> Finding:
    data = event.data
    first, columns = int(data["first"]), int(data["columns"])
    who = f"Column {first} of the {count(data['of'])} inputs puts" if columns == 1 else f"{count(columns)} inputs put"
    return leaked_answer.finding(
        f"{who} all of {count(data['examples'])} examples into the order of their targets, without one exception.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.9,
        evidence=dict(data),
        series=[LOSS.name],
        could_also_be=("a target that is a function of this one feature, as in a toy task.",),
        try_=(f"Train without column {first}: if the loss is far higher, the model had read the answer there.",),
    )


def _is_in_place(event: Event, limits: Limits) -> bool:
    data = event.data
    return bool(data["same"] >= limits.same and data["asked"] >= limits.asked and data["kinds"] >= limits.kinds)


def _is_copied(run: Run, limits: Limits) -> bool:
    """Whether the loss came down as fast as it does when the answer only has to be copied."""
    early = run.loss.finite().before(limits.soon)
    if len(early) < 2 * limits.smooth:
        return False
    windows = np.lib.stride_tricks.sliding_window_view(early.values, limits.smooth)
    return float(np.median(windows, axis=1).min()) <= limits.copied * early.head(limits.smooth).median()


def _token(run: Run, event: Event) -> Finding:
    data = event.data
    return leaked_answer.finding(
        f"The model is asked for the token that it is given: {number(100 * float(data['same']), 3)} % of the targets "
        "are the input at the same place.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.93,
        evidence=dict(data),
        series=[LOSS.name],
        could_also_be=("an autoencoder of sequences, whose answer has to pass a bottleneck.",),
        try_=(
            "For the next token, move the targets by one: inputs, targets = ids[:, :-1], ids[:, 1:].",
            "For masked tokens, put the mask token into the input wherever a target is asked for.",
        ),
    )


def _future(run: Run, event: Event) -> Finding:
    data = event.data
    place, changed = int(data["position"]), int(data["changed"])
    return leaked_answer.finding(
        f"The model sees the token that it should predict: with token {place} changed, the answers at {count(changed)} "
        f"of the {count(place)} positions before it change, by up to {number(float(data['change']), 2)}.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.97,
        evidence=dict(data),
        series=[LOSS.name],
        could_also_be=("normalisation over the length of the sequence, which lets through a little of what follows.",),
        try_=(
            "Give the attention its causal mask: is_causal=True, or a mask that hides what follows.",
            "Pad convolutions at the front only, and normalise each position by itself.",
        ),
    )


def _own_place(run: Run, event: Event) -> Finding:
    place, change = int(event.data["place"]), float(event.data["change"])
    return leaked_answer.finding(
        f"The model sees the number that it should tell: with number {count(place)} of a sample changed, no answer "
        f"before it changes, and the one at that very place changes by {number(change, 2)} of the largest.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.95,
        evidence=dict(event.data),
        series=[LOSS.name],
        could_also_be=("a model that works on each number by itself, and is meant to.",),
        try_=(
            "Give the first masked layer the mask that leaves out the middle (type A), and only the others type B.",
            "Or move the input by one place: what stands at a place must be unknown there.",
        ),
    )


def _its_input(run: Run, event: Event) -> Finding:
    return leaked_answer.finding(
        f"The model is asked for what it is given: the target is the input itself, in all of its "
        f"{count(event.data['columns'])} numbers, and only has to be handed on, whatever the time step is.",
        first_step=0,
        last_step=max(event.step, run.steps - 1),
        confidence=0.9,
        evidence=dict(event.data),
        series=[LOSS.name],
        could_also_be=("an autoencoder whose code is wider than its input.",),
        try_=("Ask for the noise that was added, or for the sample without it: mse_loss(model(noisy, t), noise).",),
    )
