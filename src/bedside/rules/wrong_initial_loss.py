"""The first loss is far above that of a blind guess: the network starts out confidently wrong.

## What it sees
A first loss that is several times the loss of a guess among the classes, which are known.

## Why it matters
A network that knows nothing should begin at ln K. One that begins far above answers with large scores at random: its
last layer, a scale or its inputs are too large. The first steps go into unlearning that, with gradients as large as the
outputs, and often do lasting harm (dead units, saturated softmax).

## How it decides
The number of classes is known, the first reading was taken within the first `soon` steps, and it is `times` the loss
of a guess or more. The loss must be one of answers: of tokens, of a watched classifier, or beside an accuracy, and not
made of parts (detection, segmentation; terms beside the cross-entropy, as in distillation). A loss that is added up,
over a sequence say, is compared with as many guesses, where its graph tells how many; otherwise one that never comes
below a guess may be such a sum, and is judged only if the scores themselves are `scores` of it large. It is a warning
where `long` of the run and `steps` steps were spent above a guess, and a note otherwise.

## When it is wrong
Losses of a log with extra terms (regularisation, auxiliary heads) that begin large by design.

## What to try
1. Start the last layer smaller (weights divided by ten, bias zero), until the first loss is near ln K.
2. Normalise the inputs; look for a scale or temperature that multiplies the scores.

## Example
>>> from bedside.testing import a_run
>>> loss, accuracy = [41.0 * 0.97**k + 0.8 for k in range(300)], [0.1, 0.3, 0.5, 0.6]
>>> print(*wrong_initial_loss.check(a_run(loss=loss, val_accuracy=accuracy, config={"classes": 10})))
LOS114 wrong-initial-loss: The loss began at 41.8, 18 times that of a blind guess (ln 10 = 2.303), and was above it \
for 109 steps.

## References
- Karpathy (2019), A recipe for training neural networks: verify the loss at initialisation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies
from bedside.analysis.chance_levels import known_chance
from bedside.analysis.losses import training_loss_to_fall
from bedside.analysis.statistics import how_sure, outline
from bedside.errors import NotEnough
from bedside.finding import Finding, Severity
from bedside.record.run import Run
from bedside.record.vocabulary import ACTIVATION_RMS
from bedside.rules.base import rule
from bedside.rules.what_was_seen import inputs_not_normalised
from bedside.wording import number, steps

CROSS_ENTROPY = "NllLoss"  # the name that the graph of a loss has for it, in one dimension and in two
WATCHED = "bedside"  # the classes of a watched run were read off its cross-entropy; those of a log are a setting


@dataclass(frozen=True)
class Limits:
    fewest: int = 20  # readings of the training loss
    soon: int = 10  # steps: later readings are of a network that was trained already
    scores: float = 0.1  # of the loss: a mean cross-entropy is about as large as scores differ, a sum is not
    times: float = 5.0  # the loss of a guess: healthy first losses, on raw inputs too, are within 4
    long: float = 0.05  # of the run spent above a guess
    steps: int = 20  # above a guess: a start can be loud and over soon


@rule("LOS114", severity=Severity.WARNING, needs=[], limits=Limits())
def wrong_initial_loss(run: Run, limits: Limits) -> Iterator[Finding]:
    series = training_loss_to_fall(run, limits.fewest)
    chance = known_chance(run.config)
    if chance is None or chance.classes < 2:
        raise NotEnough("the number of classes (num_classes or vocab_size in the settings)")
    if not _of_answers(run):
        raise NotEnough("a loss of answers only: an accuracy beside it, and no parts")
    if others := _other_terms(run):
        raise NotEnough(f"a loss of answers only: this one adds {others} to its cross-entropy")
    if run.axis != "step" or series.first_step > limits.soon:
        raise NotEnough(f"a loss of the first {limits.soon} steps")
    first, curve, guess = float(series.values[0]), outline(series), chance.level * _added_up(run)
    never = curve.best >= guess
    if first < limits.times * guess or (never and _scores(run) < limits.scores * first):
        return
    below = len(curve.values) - 1 if never else int(np.argmax(curve.values < guess))
    spent = int(curve.steps[below]) - series.first_step
    lasting = spent >= max(limits.steps, limits.long * run.steps)
    yield wrong_initial_loss.finding(
        f"The loss began at {number(first)}, {number(first / guess, 2)} times that of a blind guess ({chance}), "
        f"and was above it for {steps(spent, run.axis)}.",
        severity=None if lasting else Severity.NOTE,
        first_step=series.first_step,
        last_step=int(curve.steps[below]),
        confidence=how_sure(first / guess, limits.times / 1.5),
        evidence={"first": first, "chance": guess, "steps_above": spent},
        series=[series.key, "grad_norm"],
        could_also_be=(inputs_not_normalised(run),),
        try_=(
            f"Start the last layer smaller (weights divided by ten, bias zero), until the first loss is near "
            f"{number(guess)}.",
            "Look for a scale or a temperature that multiplies the scores.",
        ),
    )


def _scores(run: Run) -> float:
    """How large the outputs of the last module were at first; 0 if they were not read."""
    owners = run.owners(ACTIVATION_RMS.name)
    outputs = run.series(ACTIVATION_RMS.name, owners[-1]).finite() if owners else None
    return float(outputs.values[0]) if outputs else 0.0


def _other_terms(run: Run) -> str:
    """What a watched loss adds to its cross-entropy, whose level a blind guess tells nothing about; "" if nothing."""
    terms = _terms(run)
    others = [term for term in terms if not str(term["made_by"]).startswith(CROSS_ENTROPY)] if len(terms) > 1 else []
    return f"{len(others)} other {'term' if len(others) == 1 else 'terms'}" if others else ""


def _added_up(run: Run) -> float:
    """How many mean losses a watched loss is: one that is summed over a sequence or a batch is many."""
    parts = [term["weight"] * (term["elements"] if term["reduction"] == "sum" else 1) for term in _terms(run)]
    return max(1.0, float(np.abs(parts).sum()))


def _terms(run: Run) -> list[Mapping[str, Any]]:
    return [term for event in run.events_of("loss_terms")[:1] for term in event.data["terms"]]


def _of_answers(run: Run) -> bool:
    """Whether the loss is that of answers among the classes, as far as the run shows."""
    tokens = any(key.rsplit(".", 1)[-1] in ("vocab_size", "padded_vocab_size") for key in run.config)
    known = tokens or run.format == WATCHED or bool(accuracies(run) or accuracies(run, "train"))
    return known and not run.matching("part/")
