"""The question of 11 PM: validation has not improved for a third of the run. Is that the end, or is something wrong?

Five answers look alike on the validation curve alone. What tells them apart is what went on meanwhile:

    normal convergence    training is flat as well, at a good level, and was so before the learning rate went
    saddle or plateau     training is flat as well, at a bad level, though the learning rate could still move it
    learning rate gone    training is flat since the learning rate became next to nothing
    broken evaluation     the same number again and again, while the network changes
    silent overfitting    training goes on, validation does not follow or gets worse
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bedside.analysis.chance_levels import chance_level
from bedside.analysis.losses import is_surrogate, training_loss, validation_losses, validation_metrics
from bedside.analysis.statistics import is_rounded, noise_level, repeats_at_end, trend
from bedside.analysis.untrained_signs import epochs
from bedside.diagnosis.hypotheses.evidence import alarm, level_at, level_now, rate_share, usual
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series, Values
from bedside.rules.advice import moment
from bedside.wording import number, percent

FLAT = 1 / 3  # of the run: shorter stretches without a better evaluation are part of any run
FEWEST = 6  # evaluations: two before the flat stretch and four in it
WORSE = 0.3  # of the level: a rise that nobody calls flat
NEGLIGIBLE = 0.005  # of the level: a gain that nobody would wait hours for
PART = 0.05  # of what was won: a loss that is all but zero improves by large shares of itself for ever
NOISE = 4.0  # σ of an evaluation: the range of thirty readings of pure noise
STILL = 0.05  # of the level: a training loss that changed by less is as flat as validation
MUCH = 0.3  # of the level: a fall that is as telling as it gets
# Validation over training loss: little more than what dropout and batches make; more than that; learned by heart.
NARROW, WIDE, FAR = 2.0, 3.0, 10.0
WON = 0.5  # of the first level: more than half is gone, so that most of what can be learned was
LITTLE = 0.2  # of the first level: less than this was won
GOOD = 0.9  # a score of 0 to 1 this high leaves little to be won
GONE, LOW = 0.01, 0.1  # of the learning rate's peak: below what most schedules end at; where they begin to end
LEFT = 0.3  # of the gradient before: it has not faded
TINY = 1e-6  # of the weights per step: published guidance for updates that do nothing
SAME = 3  # equal evaluations in a row: two may be one that was logged twice


@dataclass(frozen=True)
class Flat:
    """The flat stretch, and what went on meanwhile."""

    run: Run
    found: Sequence[Finding]
    validation: Series  # as a loss: lower is better
    since: int
    first: float
    then: float
    now: float
    training: Series

    @property
    def fell(self) -> float:
        """What the training loss lost meanwhile, as a share of the level; NaN if it is not known."""
        then, now = level_at(self.training, self.since), level_now(self.training)
        same_kind = self.validation.vital.endswith("loss")
        level = max(abs(then), abs(self.then) if same_kind else 0.0)
        return (then - now) / level if level > 0 else math.nan

    @property
    def gap(self) -> float:
        """How many times the training loss the validation loss is now; NaN where they cannot be compared."""
        comparable = self.validation.vital == "val/loss" and len(self.training) and self.training.values.min() > 0
        return self.now / level_now(self.training) if comparable and self.now > 0 else math.nan

    @property
    def trained(self) -> str:
        then, now = level_at(self.training, self.since), level_now(self.training)
        return f"{number(then)} then, {number(now)} now"

    @property
    def repeats(self) -> int:
        """Evaluations at the end that are equal to the last digit, where digits enough were written."""
        values = self.validation.values
        return 1 if is_rounded(float(values[-1])) else repeats_at_end(values)

    @property
    def rose(self) -> float:
        """How far it is above its best in the stretch, as a share, if it rises for good; 0 if not."""
        stretch = self.validation.since(self.since)
        slope = trend(stretch)
        return slope.change / abs(self.then) if slope.rising and self.then else 0.0


def flat_validation(run: Run, found: Sequence[Finding]) -> Differential | None:
    """The answers, heaviest first; None if validation still improves, or was not looked at often enough."""
    facts = _facts(run, found)
    if facts is None or not (hypotheses := weighed(CAUSES, facts)):
        return None
    length = max(1, facts.validation.last_step - facts.validation.first_step)
    share = (facts.validation.last_step - facts.since) / length
    return Differential(
        f"{facts.validation.key} has not improved since {moment(run, facts.since)}, for {percent(share)} of the run. "
        "Has it converged, or is something wrong?",
        facts.since,
        hypotheses,
    )


def _facts(run: Run, found: Sequence[Finding]) -> Flat | None:
    validation = _validation(run)
    if validation is None or len(validation) < FEWEST or is_surrogate(run) or alarm(found, *UNSTABLE):
        return None
    index = _flat_since(validation.values)
    stretch = validation.since(int(validation.steps[index]))
    since, length = stretch.first_step, validation.last_step - validation.first_step
    if len(stretch) < FEWEST - 2 or length <= 0 or validation.last_step - since < FLAT * length:
        return None
    then, first, now = level_at(validation, since), float(validation.values[0]), level_now(validation)
    slope = trend(stretch)
    if slope.falling and -slope.change > NEGLIGIBLE * abs(then):
        return None  # slowly, but it improves
    if now - then > WORSE * abs(then):
        return None
    return Flat(run, found, validation, since, first, then, now, training_loss(run).finite())


def _flat_since(values: Values) -> int:
    """Index of the first evaluation after which next to nothing more was won."""
    lowest_later = np.minimum.accumulate(values[::-1])[::-1]
    level, won = abs(float(np.median(values[-3:]))), float(values[0] - values.min())
    slack = max(min(NEGLIGIBLE * level, PART * won), NOISE * noise_level(values))
    falling = np.flatnonzero(values - lowest_later > slack)
    return int(falling[-1]) + 1 if len(falling) else 0


def _validation(run: Run) -> Series | None:
    """The curve in question: the validation loss, or the first score, turned so that lower is better."""
    for series in [*validation_losses(run), *validation_metrics(run)]:
        finite = series.finite()
        if finite and len(finite) == len(series):
            return Series(series.vital, series.owner, finite.steps, -finite.values) if goes_up(series.vital) else finite
    return None


def _convergence(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=STRONG, fell=-STRONG)
    yield from _level(flat, good=STRONG, bad=-STRONG)
    if flat.repeats >= SAME:
        yield Sign(f"{flat.repeats} evaluations in a row are equal to the last digit", -DECISIVE)
    if flat.rose > 0:
        yield Sign(f"validation gets worse: {number(abs(flat.then))} then, {number(abs(flat.now))} now", -HINT)
    if (then := rate_share(flat.run, flat.since)) >= LOW:
        yield Sign(f"it went flat though the learning rate was {percent(then)} of its peak", HINT)
    elif then < GONE:
        yield Sign(f"it went flat when the learning rate was {percent(then)} of its peak", -HINT)
    if bad := alarm(flat.found, *PLATEAUS, *SCHEDULES, "overfitting", "frozen-validation"):
        yield Sign(f"{bad.name} was found", -STRONG)


PLATEAUS = (
    "stuck-from-start",
    "loss-at-chance",
    "stalled-loss",
    "constant-loss",
    "faded-gradient",
    "vanishing-gradient",
    "dead-layer",
    "underfitting",
)
SCHEDULES = ("vanished-learning-rate", "schedule-ended-early", "scheduler-per-batch")


# A run that fell apart is not flat.
UNSTABLE = (
    "diverging-loss",
    "oscillating-loss",
    "erratic-validation",
    "nonfinite-loss",
    "nonfinite-gradient",
    "nonfinite-weights",
)


def _plateau(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=HINT, fell=-STRONG)
    yield from _level(flat, good=-STRONG, bad=STRONG)
    if found := alarm(flat.found, *PLATEAUS):
        yield Sign(f"{found.name} was found", STRONG)
    before, now = usual(flat.run, "grad_norm", 0, flat.since), usual(flat.run, "grad_norm", flat.since)
    if now < GONE * before:
        yield Sign(f"the gradient faded from {number(before)} to {number(now)}", HINT)
    elif now > LEFT * before:
        yield Sign(f"the gradient is still there ({number(before)} before, {number(now)} since)", -HINT)
    if (then := rate_share(flat.run, flat.since)) >= LOW:
        yield Sign(f"the learning rate was still {percent(then)} of its peak", HINT)
    elif then < LOW:
        odds = -STRONG if then < GONE else -HINT
        yield Sign(f"the learning rate was {percent(then)} of its peak: no step could lead away", odds)
    if flat.repeats >= SAME and flat.fell > STILL:
        yield Sign("evaluations repeat to the last digit while training moves", -STRONG)


def _rate_gone(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=HINT, fell=-STRONG)
    then = rate_share(flat.run, flat.since)
    if found := alarm(flat.found, *SCHEDULES):
        yield Sign(f"{found.name} was found", STRONG)
    if then < LOW:
        odds = STRONG if then < GONE else HINT
        yield Sign(f"it went flat when the learning rate was {percent(then)} of its peak", odds)
    elif then >= LOW:
        yield Sign(f"it went flat while the learning rate was {percent(then)} of its peak", -STRONG)
    if then < LOW and (falling := _falling_before_the_end_of_the_rate(flat)) is not None:
        if falling:
            yield Sign("the training loss was still falling when the learning rate went", HINT)
        else:
            yield Sign("the training loss was flat before the learning rate went", -STRONG)
    update = _update_now(flat)
    if update < TINY:
        yield Sign(f"a step changes the weights by {number(update)} of their norm", STRONG)
    elif update > 10 * TINY:
        yield Sign(f"a step still changes the weights by {number(update)} of their norm", -HINT)


def _evaluation(flat: Flat) -> Iterator[Sign]:
    moving = flat.fell > STILL
    if flat.repeats >= SAME:
        since = int(flat.validation.steps[-flat.repeats])
        gone = rate_share(flat.run, since) < GONE or _update_now(flat) < TINY
        if gone and not moving:
            yield Sign("evaluations repeat to the last digit, but the weights no longer move either", -STRONG)
        else:
            yield Sign(f"{flat.repeats} evaluations in a row are equal to the last digit", DECISIVE)
    elif not is_rounded(float(flat.validation.values[-1])):
        yield Sign("no two evaluations in a row are equal to the last digit", -STRONG)
    if moving and flat.rose <= 0:
        yield Sign(f"the training loss moved on ({flat.trained}), validation went neither up nor down", HINT)
    elif flat.fell <= STILL and flat.repeats < SAME:
        yield Sign(f"the training loss is flat too ({flat.trained})", -HINT)
    if alarm(flat.found, "frozen-validation"):
        yield Sign("frozen-validation was found", STRONG)
    if bad := alarm(flat.found, "constant-loss", "step-without-gradient", "nonfinite-loss"):
        yield Sign(f"{bad.name} was found: validation is right to be constant", -DECISIVE)


def _overfitting(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=-STRONG, fell=STRONG)
    if flat.gap > WIDE:
        odds = STRONG if flat.gap > FAR else HINT
        yield Sign(f"validation is {number(flat.gap)} times the training loss", odds)
    elif flat.gap < NARROW:
        yield Sign(f"validation is only {number(flat.gap)} times the training loss", -HINT)
    if flat.rose > 0:
        yield Sign(f"validation gets worse: {number(abs(flat.then))} then, {number(abs(flat.now))} now", STRONG)
    if flat.repeats >= SAME:
        yield Sign(f"{flat.repeats} evaluations in a row are equal to the last digit", -STRONG)
    if found := alarm(flat.found, "overfitting", "overconfident"):
        yield Sign(f"{found.name} was found", STRONG)
    passes = epochs(flat.run)
    if 0 < passes < 1.5:
        yield Sign("the data went by only once: nothing was seen often enough to be learned by heart", -STRONG)
    elif passes >= 3:
        yield Sign(f"the data went by {number(passes)} times", HINT / 2)


def _training_too(flat: Flat, *, still: float, fell: float) -> Iterator[Sign]:
    """Whether training stood still as well."""
    if flat.fell > STILL:
        yield Sign(f"the training loss went on falling ({flat.trained})", fell * min(1.0, flat.fell / MUCH))
    elif flat.fell <= STILL and not flat.gap > FAR:  # what is known by heart has nowhere to fall
        yield Sign(f"the training loss is flat too ({flat.trained})", still)


def _level(flat: Flat, *, good: float, bad: float) -> Iterator[Sign]:
    """Whether the level is one that a trained network may rest at."""
    chance = chance_level(flat.run.config, abs(flat.now)) if flat.validation.vital.endswith("loss") else None
    if chance is not None:
        yield Sign(f"its level is that of a blind guess ({chance})", bad if chance.known else bad / 2)
        return
    score = _score(flat.run)
    won = (flat.first - flat.now) / abs(flat.first) if flat.first else math.nan
    if score is not None and score.values[-1] >= GOOD:
        yield Sign(f"{score.key} is {number(score.last)}", good)
    elif won >= WON:
        yield Sign(f"{percent(won)} of the first level was won", good / 2)
    elif won < LITTLE:  # a hint only: fine-tuning begins where there is little left to win
        yield Sign(f"only {percent(max(0.0, won))} of the first level was won", math.copysign(HINT / 2, bad))


def _score(run: Run) -> Series | None:
    """An accuracy or its like, between 0 and 1."""
    for series in validation_metrics(run):
        finite = series.finite()
        if finite and goes_up(series.vital) and finite.values.min() >= 0 and finite.values.max() <= 1:
            return finite
    return None


def _update_now(flat: Flat) -> float:
    """What a step changes, late in the stretch; NaN if nothing was read there."""
    last = flat.validation.last_step
    return usual(flat.run, "relative_update_norm", (flat.since + last) // 2)


def _falling_before_the_end_of_the_rate(flat: Flat) -> bool | None:
    """Whether training still fell in the second half of the steps before the rate was a tenth of its peak."""
    rates = flat.run.series("lr").finite()
    high = rates.values >= LOW * rates.values.max()
    last = int(rates.steps[high.nonzero()[0][-1]])
    before = flat.training.before(last + 1)
    if len(before) < FEWEST:
        return None
    half = before.since((before.first_step + last) // 2)
    return trend(half if len(half) >= FEWEST else before).falling


CAUSES = (
    Cause("normal-convergence", "normal convergence", _convergence),
    Cause("plateau", "a saddle or a plateau", _plateau, "overfit-one-batch"),
    Cause("learning-rate-gone", "a learning rate decayed below usefulness", _rate_gone, "fresh-learning-rate"),
    Cause(
        "broken-evaluation",
        "an evaluation that returns the same number or looks at a stale checkpoint",
        _evaluation,
        "repeat-validation",
    ),
    Cause("silent-overfitting", "silent overfitting", _overfitting, "evaluate-training-data"),
)
