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
from bedside.analysis.losses import meant_to_fall, validation_metrics
from bedside.analysis.statistics import is_rounded, trend
from bedside.analysis.untrained_signs import epochs
from bedside.diagnosis.hypotheses.evidence import alarm, is_alarm, rate_share, usual
from bedside.diagnosis.hypotheses.flat_part import Flat, flat_part
from bedside.diagnosis.hypotheses.weights import DECISIVE, HINT, STRONG, Cause, Sign, weighed
from bedside.finding import Differential, Finding
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series
from bedside.rules.advice import moment
from bedside.wording import number, percent


@dataclass(frozen=True)
class Limits:
    still: float = 0.05  # of the level it began at: a training loss that changed by less is as flat as validation
    much: float = 0.3  # of that level: a fall that is as telling as it gets
    narrow: float = 0.05  # of that level, between validation and training: what dropout and small sets make
    wide: float = 0.1  # of that level: more than that
    far: float = 0.3  # of that level: learned by heart
    won: float = 0.5  # of the first level: more than half is gone, so that most of what can be learned was
    little: float = 0.2  # of the first level: less than this was won
    good: float = 0.9  # a score of 0 to 1 this high leaves little to be won
    kept: float = 0.1  # of what a score had won: one that lost less since its best is as good as ever
    gone: float = 0.01  # of the learning rate's peak: below what most schedules end at
    low: float = 0.1  # of the learning rate's peak: where schedules begin to end
    left: float = 0.3  # of the gradient before: it has not faded
    tiny: float = 1e-6  # of the weights per step: published guidance for updates that do nothing
    enough: float = 1e-5  # of the weights per step: ten times that
    seldom: float = 1.5  # passes over the data: nothing was seen twice
    often: float = 3.0  # passes over the data: enough to learn it by heart
    same: int = 3  # equal evaluations in a row: two may be one that was logged twice
    readings: int = 7  # of the training loss: as many as the flat part of validation needs


LIMITS = Limits()
ROUNDING = 1e-6

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


def flat_validation(run: Run, found: Sequence[Finding]) -> Differential | None:
    """The answers, heaviest first; None if validation still improves, was not evaluated often enough, or no training
    loss tells what went on meanwhile (players with a loss each, reinforcement learning)."""
    if not meant_to_fall(run):
        return None
    facts = flat_part(run, found)
    alarms = [each for each in found if is_alarm(each)]
    first = next((each for each in alarms if each.primary), None)
    if first is not None and not any(first.name in cause.named_by for cause in CAUSES):
        return None  # something else is wrong, and the report says what
    if facts is None or not (hypotheses := weighed(CAUSES, facts, [first] if first else [])):
        return None
    length = max(1, facts.validation.last_step - facts.validation.first_step)
    share = (facts.validation.last_step - facts.since) / length
    return Differential(
        f"{facts.validation.key} has not improved since {moment(run, facts.since)}, for {percent(share)} of the run. "
        "Has it converged, or is something wrong?",
        facts.since,
        hypotheses,
    )


def _convergence(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=STRONG, fell=-STRONG)
    yield from _level(flat, good=STRONG, bad=-STRONG)
    if flat.repeats >= LIMITS.same:
        yield Sign(f"{flat.repeats} evaluations in a row are equal to the last digit", -DECISIVE)
    if flat.rose > 0:
        yield Sign(f"validation gets worse: {number(abs(flat.then))} then, {number(abs(flat.now))} now", -HINT)
    if (then := rate_share(flat.run, flat.since)) >= LIMITS.low:
        yield Sign(f"it went flat though the learning rate was {percent(then)} of its peak", HINT)
    elif then < LIMITS.gone:
        yield Sign(f"it went flat when the learning rate was {percent(then)} of its peak", -HINT)


def _plateau(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=HINT, fell=-STRONG)
    yield from _level(flat, good=-STRONG, bad=STRONG)
    before, now = usual(flat.run, "grad_norm", 0, flat.since), usual(flat.run, "grad_norm", flat.since)
    if now < LIMITS.gone * before:
        yield Sign(f"the gradient faded from {number(before)} to {number(now)}", HINT)
    elif now > LIMITS.left * before:
        yield Sign(f"the gradient is still there ({number(before)} before, {number(now)} since)", -HINT)
    if (then := rate_share(flat.run, flat.since)) >= LIMITS.low:
        yield Sign(f"the learning rate was still {percent(then)} of its peak", HINT)
    elif then < LIMITS.low:
        odds = -STRONG if then < LIMITS.gone else -HINT
        yield Sign(f"the learning rate was {percent(then)} of its peak: no step could lead away", odds)
    if flat.repeats >= LIMITS.same and flat.fell > LIMITS.still:
        yield Sign("evaluations repeat to the last digit while training moves", -STRONG)


def _rate_gone(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=HINT, fell=-STRONG)
    then = rate_share(flat.run, flat.since)
    if then < LIMITS.low:
        odds = STRONG if then < LIMITS.gone else HINT
        yield Sign(f"it went flat when the learning rate was {percent(then)} of its peak", odds)
    elif then >= LIMITS.low:
        yield Sign(f"it went flat while the learning rate was {percent(then)} of its peak", -STRONG)
    if then < LIMITS.low and (falling := _falling_before_the_end_of_the_rate(flat)) is not None:
        if falling:
            yield Sign("the training loss was still falling when the learning rate went", HINT)
        else:
            yield Sign("the training loss was flat before the learning rate went", -STRONG)
    update = _update_now(flat)
    if update < LIMITS.tiny:
        yield Sign(f"a step changes the weights by {number(update)} of their norm", STRONG)
    elif update > LIMITS.enough:
        yield Sign(f"a step still changes the weights by {number(update)} of their norm", -HINT)


def _evaluation(flat: Flat) -> Iterator[Sign]:
    moving = flat.fell > LIMITS.still
    if flat.repeats >= LIMITS.same:
        since = int(flat.validation.steps[-flat.repeats])
        gone = rate_share(flat.run, since) < LIMITS.gone or _update_now(flat) < LIMITS.tiny
        if gone and not moving:
            yield Sign("evaluations repeat to the last digit, but the weights no longer move either", -STRONG)
        else:
            yield Sign(f"{flat.repeats} evaluations in a row are equal to the last digit", DECISIVE)
    elif not is_rounded(float(flat.validation.values[-1])):
        yield Sign("no two evaluations in a row are equal to the last digit", -STRONG)
    if moving and flat.rose <= 0:
        yield Sign(f"the training loss moved on ({flat.trained}), validation went neither up nor down", HINT)
    elif flat.fell <= LIMITS.still and flat.repeats < LIMITS.same:
        yield Sign(f"the training loss is flat too ({flat.trained})", -HINT)
    if bad := alarm(flat.found, "constant-loss", "step-without-gradient", "nonfinite-loss"):
        yield Sign(f"{bad.name} was found: validation is right to be constant", -DECISIVE)


def _overfitting(flat: Flat) -> Iterator[Sign]:
    yield from _training_too(flat, still=-STRONG, fell=STRONG)
    if flat.gap > LIMITS.wide:
        odds = STRONG if flat.gap > LIMITS.far else HINT
        yield Sign(f"validation is far above training ({flat.levels})", odds)
    elif flat.gap < LIMITS.narrow:
        yield Sign(f"validation is hardly above training ({flat.levels})", -STRONG)
    if flat.rose > 0:
        yield Sign(f"validation gets worse: {number(abs(flat.then))} then, {number(abs(flat.now))} now", STRONG)
    else:
        yield Sign("validation does not get worse", -HINT)
    if flat.rose > 0 and (score := _kept_score(flat)) is not None:
        yield Sign(f"{score.key} is as good as ever ({number(score.last)})", -STRONG)
    if flat.repeats >= LIMITS.same:
        yield Sign(f"{flat.repeats} evaluations in a row are equal to the last digit", -STRONG)
    passes = epochs(flat.run)
    if 0 < passes < LIMITS.seldom:
        yield Sign("the training data were seen only once: too rarely to be learned by heart", -STRONG)
    elif passes >= LIMITS.often:
        yield Sign(f"the training data were seen {number(passes)} times", HINT / 2)


def _training_too(flat: Flat, *, still: float, fell: float) -> Iterator[Sign]:
    """Whether training stood still as well."""
    if flat.fell > LIMITS.still:
        yield Sign(f"the training loss went on falling ({flat.trained})", fell * min(1.0, flat.fell / LIMITS.much))
    elif flat.fell <= LIMITS.still and not flat.gap > LIMITS.wide:  # what is known by heart has nowhere to fall
        yield Sign(f"the training loss is flat too ({flat.trained})", still)


def _level(flat: Flat, *, good: float, bad: float) -> Iterator[Sign]:
    """Whether the level is one that a trained network may rest at."""
    chance = chance_level(flat.run.config, abs(flat.now)) if flat.validation.vital.endswith("loss") else None
    if chance is not None:
        yield Sign(f"its level is that of a blind guess ({chance})", bad if chance.known else bad / 2)
        return
    score = _score(flat.run)
    won = (flat.first - flat.now) / abs(flat.first) if flat.first else math.nan
    if score is not None and score.values[-1] >= LIMITS.good:
        yield Sign(f"{score.key} is {number(score.last)}", good)
    elif won >= LIMITS.won:
        yield Sign(f"{percent(won)} of the first level was won", good / 2)
    elif won < LIMITS.little:  # a hint only: fine-tuning begins where there is little left to win
        yield Sign(f"only {percent(max(0.0, won))} of the first level was won", math.copysign(HINT / 2, bad))


def _score(run: Run) -> Series | None:
    """An accuracy or its like, between 0 and 1."""
    for series in validation_metrics(run):
        finite = series.finite()
        if finite and goes_up(series.vital) and finite.values.min() >= 0 and finite.values.max() <= 1:
            return finite
    return None


def _kept_score(flat: Flat) -> Series | None:
    """A held-out score that is as good as it ever was, while the loss rises: the answers did not get worse."""
    score = _score(flat.run)
    if score is None or score.vital == flat.validation.vital or len(score) < LIMITS.same:
        return None
    won = float(score.values.max() - score.values[0])
    lost = float(score.values.max() - score.tail(LIMITS.same).median())
    gaps = np.diff(np.unique(score.values))
    sample = float(gaps.min()) if len(gaps) else 0.0  # at most what one answer more or less makes
    return score if won > 0 and lost <= max(LIMITS.kept * won, (1 + ROUNDING) * sample) else None


def _update_now(flat: Flat) -> float:
    """What a step changes, late in the flat part; NaN if nothing was read there."""
    last = flat.validation.last_step
    return usual(flat.run, "relative_update_norm", (flat.since + last) // 2)


def _falling_before_the_end_of_the_rate(flat: Flat) -> bool | None:
    """Whether training still fell in the second half of the steps before the rate was a tenth of its peak."""
    rates = flat.run.series("lr").finite()
    high = rates.values >= LIMITS.low * rates.values.max()
    last = int(rates.steps[high.nonzero()[0][-1]])
    before = flat.training.before(last + 1)
    if len(before) < LIMITS.readings:
        return None
    half = before.since((before.first_step + last) // 2)
    return trend(half if len(half) >= LIMITS.readings else before).falling


CAUSES = (
    Cause("normal-convergence", "normal convergence", _convergence),
    Cause("plateau", "a saddle or a plateau", _plateau, "overfit-one-batch", PLATEAUS),
    Cause(
        "learning-rate-gone", "a learning rate decayed below usefulness", _rate_gone, "fresh-learning-rate", SCHEDULES
    ),
    Cause(
        "broken-evaluation",
        "an evaluation that returns the same number or looks at a stale checkpoint",
        _evaluation,
        "repeat-validation",
        ("frozen-validation",),
    ),
    Cause(
        "silent-overfitting",
        "silent overfitting",
        _overfitting,
        "evaluate-training-data",
        ("overfitting", "overconfident"),
    ),
)
