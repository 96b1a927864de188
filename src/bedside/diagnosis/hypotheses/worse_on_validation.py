"""Validation is worse than training. Learned by heart, evaluated otherwise, or other data?

A network that learns by heart begins without a gap and opens one epoch after epoch; an evaluation in the wrong mode or
with other preprocessing, and a validation set of another kind, are there while the data have gone by once or twice,
when nothing can be known by heart. Gaps are measured on the scale of the loss that training began with: a multiple of
a training loss that is all but zero says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import training_loss, validation_losses
from bedside.analysis.statistics import noise_level, outline
from bedside.analysis.untrained_signs import epochs
from bedside.diagnosis.hypotheses.evidence import Symptom, level_at, level_now, symptom
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.wording import number

SYMPTOMS = ("overfitting", "overconfident", "gap-from-start")


@dataclass(frozen=True)
class Limits:
    evaluations: int = 3  # of the validation loss: fewer have no beginning and end
    passes: float = 2.0  # over the data: until then next to nothing can be known by heart
    grew: float = 0.1  # of the first training loss: what the gap must have grown by to be one that opened
    wide: float = 0.2  # of the first training loss: a gap that noise and dropout do not make
    seldom: float = 1.5  # passes over the data: nothing was seen twice
    often: float = 3.0  # passes over the data: enough to learn it by heart
    judged: int = 6  # evaluations: fewer show no noise of their own
    most: float = 0.5  # of the gap: if less of it was there at first, it is the rest that needs an explanation
    erratic: float = 0.2  # of its level: an evaluation of thousands of examples wiggles far less


LIMITS = Limits()


def worse_on_validation(run: Run, found: Sequence[Finding]) -> Differential | None:
    worse = symptom(run, found, SYMPTOMS)
    if worse is None or not (hypotheses := weighed(CAUSES, worse, worse.others)):
        return None
    return Differential("Why is validation worse than training?", worse.onset, hypotheses, about=worse.finding.code)


@dataclass(frozen=True)
class Gap:
    """Validation above training early and now, as shares of the loss that training began with."""

    early: float
    now: float
    fresh: bool = False  # the early one is of a time when the data had gone by once or twice
    followed: bool = False  # validation got much better at first, as it can only where it is evaluated rightly

    @property
    def from_start(self) -> bool:
        return self.early > LIMITS.wide

    @property
    def too_early(self) -> bool:
        """Whether it was there before anything could be known by heart: most of it, or all that validation ever did."""
        opened_later = self.followed and self.early <= LIMITS.most * self.now
        return self.from_start and self.fresh and not opened_later

    @property
    def words(self) -> str:
        return f"{number(self.early)} of the first loss then, {number(self.now)} now"


def _gap(worse: Symptom) -> Gap:
    """NaN where the two losses cannot be compared."""
    training = training_loss(worse.run).finite()
    losses = [series.finite() for series in validation_losses(worse.run)]
    losses = [series for series in losses if len(series) >= LIMITS.evaluations]
    if not training or not losses:
        return Gap(math.nan, math.nan)
    began = outline(training).start
    if began <= 0:
        return Gap(math.nan, math.nan)
    first = _early(worse.run, losses[0])
    pairs = zip(first.steps.tolist(), first.values.tolist(), strict=True)
    early = float(np.median([value - level_at(training, step) for step, value in pairs])) / began
    fresh = 0 < epochs(worse.run) * float(first.last_step) / worse.run.steps <= LIMITS.passes
    followed = float(losses[0].values[0] - losses[0].values.min()) > LIMITS.wide * began
    return Gap(early, (level_now(losses[0]) - level_now(training)) / began, fresh, followed)


def _early(run: Run, validation: Series) -> Series:
    """The evaluations of the first passes over the data; the first one where passes are not known."""
    passes = epochs(run)
    if passes <= 0 or run.axis == "epoch":
        return validation.head(1)
    within = validation.before(int(LIMITS.passes / passes * run.steps) + 1)
    return within.tail(1) or validation.head(1)


def _by_heart(worse: Symptom) -> Iterator[Sign]:
    gap = _gap(worse)
    if gap.now > gap.early + LIMITS.grew:
        yield Sign(f"the gap opened in training ({gap.words})", STRONG)
    elif gap.now <= gap.early:
        yield Sign(f"the gap did not open in training ({gap.words})", -STRONG)
    if gap.too_early:
        yield Sign("the gap was there before anything could be known by heart", -DECISIVE)
    if worse.alarm("overfitting") and not gap.too_early:
        yield Sign("validation was better before: another kind of data would be so from the start", STRONG)
    passes = epochs(worse.run)
    if 0 < passes < LIMITS.seldom:
        yield Sign("the training data were seen only once", -STRONG)
    elif passes >= LIMITS.often:
        yield Sign(f"the training data were seen {number(passes)} times", HINT)


def _evaluated_otherwise(worse: Symptom) -> Iterator[Sign]:
    if worse.run.events_of("validation") and worse.run.series("eval_mode"):
        yield Sign("the modes were watched, and they are right", -HINT)
    gap = _gap(worse)
    if gap.from_start:
        odds = STRONG if gap.too_early else HINT
        yield Sign(f"the gap was there at the first evaluations ({gap.words})", odds)
    elif gap.early <= LIMITS.wide:
        yield Sign(f"at the first evaluations there was no gap ({gap.words})", -STRONG)
    losses = [series.finite().values for series in validation_losses(worse.run)]
    if not losses or len(losses[0]) < LIMITS.judged:
        return
    if noise_level(losses[0]) > LIMITS.erratic * abs(float(np.median(losses[0]))):
        yield Sign("evaluations jump from one to the next", HINT)


def _other_data(worse: Symptom) -> Iterator[Sign]:
    gap = _gap(worse)
    if gap.from_start:
        odds = STRONG if gap.too_early else HINT
        yield Sign(f"the gap was there at the first evaluations ({gap.words})", odds)
        if gap.now <= gap.early + LIMITS.grew:
            yield Sign(f"the gap stays as it is ({gap.words})", HINT)
    elif gap.early <= LIMITS.wide:
        yield Sign(f"at the first evaluations there was no gap ({gap.words})", -STRONG)


CAUSES = (
    Cause("learned-by-heart", "learned by heart", _by_heart, "evaluate-training-data", ("repeated-batches",)),
    Cause(
        "evaluated-otherwise",
        "evaluated differently from how it was trained",
        _evaluated_otherwise,
        "evaluate-training-data",
        ("evaluating-in-train-mode", "training-in-eval-mode"),
    ),
    Cause(
        "other-data",
        "a validation set that differs from the training data",
        _other_data,
        "hold-out-training-data",
        ("lopsided-labels",),
    ),
)
