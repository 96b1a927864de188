"""The flat part of a validation curve: since when nothing more was won, and what went on meanwhile."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.losses import is_surrogate, training_loss, validation_losses, validation_metrics
from bedside.analysis.statistics import is_rounded, kendall, noise_level, outline, repeats_at_end, theil_sen, trend
from bedside.diagnosis.hypotheses.evidence import alarm, level_at, level_now
from bedside.finding import Finding
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.wording import number


@dataclass(frozen=True)
class Limits:
    flat: float = 1 / 3  # of the run: shorter times without a better evaluation are part of any run
    evaluations: int = 7  # two before the flat part and five in it, fewer of which show no noise of their own
    worse: float = 0.3  # of the level: a rise that nobody calls flat
    negligible: float = 0.005  # of the level: a gain that nobody would wait hours for
    part: float = 0.05  # of what was won: where that was little, as in fine-tuning, a small gain is one
    noise: float = 3.0  # standard errors of a level: what two levels of one flat curve differ by at most
    sure: float = 1.64  # standard errors: 95 % on one side
    chance: float = 0.1  # of a fall being one: a question needs less proof that it may be wrong than an alarm
    otherwise: float = 0.2  # of what was left to be won: a score that rose by it shows that the run goes on learning
    of_won: float = 0.2  # of what that score won in the whole run: a fifth of it came while the loss was flat
    still: float = 0.05  # of the level: a change that is never called flat, whatever the noise
    ahead: float = 3.0  # σ of one evaluation: the best of twenty is two better than their mean, the first one worse


LIMITS = Limits()

# A run that fell apart is not flat.
UNSTABLE = (
    "diverging-loss",
    "oscillating-loss",
    "erratic-validation",
    "nonfinite-loss",
    "nonfinite-gradient",
    "nonfinite-weights",
)


@dataclass(frozen=True)
class Flat:
    """The flat part, and what went on meanwhile."""

    run: Run
    found: Sequence[Finding]
    validation: Series  # as a loss: lower is better
    since: int
    first: float
    then: float
    now: float
    training: Series

    @property
    def began(self) -> float:
        """The level that training began at: the scale on which later differences are large or small.

        A loss that is negative by design begins anywhere; what it won since is its scale.
        """
        if not self.training:
            return math.nan
        curve = outline(self.training)
        return max(abs(curve.start), curve.progress)

    @property
    def fell(self) -> float:
        """What the training loss lost meanwhile, as a share of the level it began at; NaN if it is not known."""
        then, now = level_at(self.training, self.since), level_now(self.training)
        return (then - now) / self.began if self.began > 0 else math.nan

    @property
    def gap(self) -> float:
        """How far validation is above training now, on the same scale; NaN where they cannot be compared."""
        comparable = self.validation.vital == "val/loss" and self.began > 0
        return (self.now - level_now(self.training)) / self.began if comparable else math.nan

    @property
    def trained(self) -> str:
        then, now = level_at(self.training, self.since), level_now(self.training)
        return f"{number(then)} then, {number(now)} now"

    @property
    def levels(self) -> str:
        return f"{number(self.now)} against {number(level_now(self.training))}, which began at {number(self.began)}"

    @property
    def repeats(self) -> int:
        """Evaluations at the end that are equal to the last digit, where enough digits were written."""
        values = self.validation.values
        return 1 if is_rounded(float(values[-1])) else repeats_at_end(values)

    @property
    def rose(self) -> float:
        """How far it is above its best in the flat part, as a share, if it rises for good; 0 if not."""
        part = self.validation.since(self.since)
        slope = trend(part)
        return slope.change / abs(self.then) if slope.rising and self.then else 0.0


def flat_part(run: Run, found: Sequence[Finding]) -> Flat | None:
    """None if validation still improves, or was not evaluated often enough."""
    validation = _validation(run)
    if validation is None or len(validation) < LIMITS.evaluations or is_surrogate(run) or alarm(found, *UNSTABLE):
        return None
    index = _flat_since(validation.values)
    if index is None:
        return None
    part = validation.since(int(validation.steps[index]))
    since, length = part.first_step, validation.last_step - validation.first_step
    if length <= 0 or validation.last_step - since < LIMITS.flat * length:
        return None
    then, first, now = level_at(validation, since), float(validation.values[0]), level_now(validation)
    slope = trend(part)
    if slope.falling and -slope.change > LIMITS.negligible * abs(then):
        return None  # slowly, but it improves
    if now - then > LIMITS.worse * abs(then) or _improves_otherwise(run, validation, since):
        return None
    return Flat(run, found, validation, since, first, then, now, training_loss(run).finite())


def _improves_otherwise(run: Run, flat: Series, since: int) -> bool:
    """Whether another score on held-out data went on improving: then the run goes on learning."""
    for series in validation_metrics(run):
        turned = -series.finite().values if goes_up(series.vital) else series.finite().values
        part = Series(series.vital, series.owner, series.finite().steps, turned).since(since)
        if series.vital == flat.vital or len(part) < LIMITS.evaluations - 2:
            continue
        level = abs(float(part.values[0]))
        room = 1 - level if goes_up(series.vital) and level <= 1 else level
        won = float(turned[0] - turned.min())
        if _falls(part.values, min(LIMITS.otherwise * room, LIMITS.of_won * won)):
            return True
    return False


def _flat_since(values: Values) -> int | None:
    """Index of the first evaluation after which next to nothing more was won; None if it improves to the end.

    The noise is that of the part in question: a steep start would make any curve look flat.
    """
    won = float(values[0] - values.min())
    for start in range(len(values) - LIMITS.evaluations + 3):
        part = values[start:]
        ends = max(2, len(part) // 3)
        before, after = float(np.median(part[:ends])), float(np.median(part[-ends:]))
        level = abs(after)
        slack = LIMITS.noise * noise_level(part) / math.sqrt(ends)
        enough = max(min(LIMITS.negligible * level, LIMITS.part * won), min(slack, LIMITS.still * level))
        first = float(part[0]) - after  # the first evaluation of it may not stand out either
        stands_out = first > min(enough + LIMITS.noise * noise_level(part), LIMITS.still * level)
        if before - after <= enough and not stands_out and _is_flat(part, level) and _not_beaten(part, won):
            return start
    return None


def _not_beaten(values: Values, won: float) -> bool:
    """Whether no later evaluation is clearly better than the first: "not improved since" has to be true of each."""
    level = abs(float(values[0]))
    noise = min(LIMITS.ahead * noise_level(values), LIMITS.still * level)
    return float(values[0] - values.min()) <= max(min(LIMITS.negligible * level, LIMITS.part * won), noise)


def _is_flat(values: Values, level: float) -> bool:
    """Whether a fall that matters is ruled out: many noisy evaluations show it, a few do not."""
    change = theil_sen(np.arange(len(values), dtype=float), values) * (len(values) - 1)
    error = noise_level(values) * math.sqrt(12 / len(values))  # of a straight line's rise over so many readings
    return -change + LIMITS.sure * error <= LIMITS.still * level


def _falls(values: Values, by: float) -> bool:
    """Whether evaluations come down more often than chance would have it, and by more than `by`."""
    tau, p = kendall(values)
    change = theil_sen(np.arange(len(values), dtype=float), values) * (len(values) - 1)
    return tau < 0 and p < LIMITS.chance and -change > by


def _validation(run: Run) -> Series | None:
    """The curve in question: the validation loss, or the first score, turned so that lower is better."""
    for series in [*validation_losses(run), *validation_metrics(run)]:
        finite = series.finite()
        if finite and len(finite) == len(series):
            return Series(series.vital, series.owner, finite.steps, -finite.values) if goes_up(series.vital) else finite
    return None
