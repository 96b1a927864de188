"""Validation is worse than training. Learned by heart, evaluated otherwise, or other data?

A network that learns by heart begins without a gap and opens one epoch after epoch; an evaluation in the wrong mode or
with other preprocessing, and a validation set of another kind, are there from the first evaluation on.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from bedside.analysis.losses import training_loss, validation_losses
from bedside.analysis.statistics import noise_level
from bedside.analysis.untrained_signs import epochs
from bedside.diagnosis.hypotheses.evidence import Symptom, level_at, level_now, symptom
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.run import Run
from bedside.wording import number

SYMPTOMS = ("overfitting", "overconfident", "gap-from-start")
GREW = 1.5  # times: the gap at the end over the gap at the first evaluations
WIDE = 1.3  # validation over training loss at the first evaluations, when nothing can be known by heart
ERRATIC = 0.2  # of its level: an evaluation of thousands of examples wiggles far less


def worse_on_validation(run: Run, found: Sequence[Finding]) -> Differential | None:
    worse = symptom(run, found, SYMPTOMS)
    if worse is None or not (hypotheses := weighed(CAUSES, worse)):
        return None
    return Differential("Why is validation worse than training?", worse.onset, hypotheses, about=worse.finding.code)


def _gap(worse: Symptom) -> tuple[float, float]:
    """Validation over training loss at the first evaluations and now; NaN where they cannot be compared."""
    training = training_loss(worse.run).finite()
    losses = [series.finite() for series in validation_losses(worse.run)]
    losses = [series for series in losses if len(series) > 2]
    if not training or not losses or training.values.min() <= 0 or losses[0].values.min() <= 0:
        return math.nan, math.nan
    first = losses[0].head(3)
    pairs = zip(first.steps.tolist(), first.values.tolist(), strict=True)
    before = float(np.median([value / level_at(training, step) for step, value in pairs]))
    return before, level_now(losses[0]) / level_now(training)


def _by_heart(worse: Symptom) -> Iterator[Sign]:
    before, now = _gap(worse)
    if now > GREW * before:
        yield Sign(
            f"the gap opened in training: {number(before)} times the training loss then, {number(now)} now", STRONG
        )
    elif now <= before:
        yield Sign(f"the gap did not open in training ({number(before)} then, {number(now)} now)", -STRONG)
    passes = epochs(worse.run)
    if 0 < passes < 1.5:
        yield Sign("the data went by only once", -STRONG)
    elif passes >= 3:
        yield Sign(f"the data went by {number(passes)} times", HINT)
    if worse.alarm("overfitting"):
        yield Sign("validation was better before", HINT)


def _evaluated_otherwise(worse: Symptom) -> Iterator[Sign]:
    if found := worse.alarm("evaluating-in-train-mode", "training-in-eval-mode"):
        yield Sign(f"{found.name} was found", DECISIVE)
    elif worse.run.events_of("validation") and worse.run.series("eval_mode"):
        yield Sign("the modes were watched, and they are right", -HINT)
    before, _ = _gap(worse)
    if before > WIDE:
        yield Sign(f"validation was {number(before)} times the training loss from the first evaluation on", STRONG)
    elif before <= WIDE:
        yield Sign(f"at the first evaluations there was no gap ({number(before)})", -STRONG)
    losses = [series.finite().values for series in validation_losses(worse.run)]
    if losses and len(losses[0]) > 5 and noise_level(losses[0]) > ERRATIC * abs(float(np.median(losses[0]))):
        yield Sign("evaluations jump from one to the next", HINT)


def _other_data(worse: Symptom) -> Iterator[Sign]:
    before, now = _gap(worse)
    if before > WIDE:
        yield Sign(f"validation was {number(before)} times the training loss from the first evaluation on", HINT)
        if now <= GREW * before:
            yield Sign(f"the gap stays as it is ({number(now)} now)", HINT)
    elif before <= WIDE:
        yield Sign(f"at the first evaluations there was no gap ({number(before)})", -HINT)
    if worse.alarm("overfitting"):
        yield Sign("validation was better before: another kind of data would be so from the start", -HINT)


CAUSES = (
    Cause("learned-by-heart", "learned by heart", _by_heart, "evaluate-training-data"),
    Cause("evaluated-otherwise", "evaluated otherwise than trained", _evaluated_otherwise, "evaluate-training-data"),
    Cause("other-data", "a validation set of another kind", _other_data, "hold-out-training-data"),
)
