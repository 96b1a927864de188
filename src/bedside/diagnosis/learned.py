"""What a run shows of having learned: how far each curve came, where it ended, and what a blind guess would reach.

`doubts.py` asks these questions before it says "healthy". Every curve is turned so that lower is better.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from bedside.analysis.accuracy_and_loss import accuracies
from bedside.analysis.chance_levels import Chance, known_chance
from bedside.analysis.losses import held_out_scores, meant_to_fall, rewards, training_loss, validation_losses
from bedside.analysis.metric_change import BETTER_ONCE, typical_change
from bedside.analysis.statistics import noise_level, outline, trend
from bedside.analysis.statistics.outline import Outline
from bedside.analysis.untrained_signs import EVALUATIONS, flat_accuracy, low_metric
from bedside.record.metric_direction import goes_up
from bedside.record.run import Run
from bedside.record.series import Series


@dataclass(frozen=True)
class Limits:
    readings: int = 20  # of a training loss: the blocks of a trend need them
    evaluations: int = 5  # an evaluation is an average over a whole set, so fewer of them carry a trend
    noise: float = 4.0  # σ of one reading: the range of thirty readings of pure noise
    alone: float = 3.0  # σ of one evaluation: what it is off its level by once in four hundred times
    gain: float = 0.01  # of the level: a resumed or finished run moves by less; any from scratch by far more
    below_guess: float = 0.05  # of a blind guess's loss: what label frequencies and memorised examples bring at least
    near_guess: float = 0.1  # of ln K: an untrained head is off by about that
    metric_gain: float = 0.1  # of what was left to be won: an accuracy that rose by it did not do so by chance
    far: float = 0.1  # of the level: what an end may be from its best without anybody minding
    lost: float = 1 / 3  # of the progress: of two thirds kept, nobody says that the run was ruined
    parts: int = 3  # of the evaluations: the first third shows what an untrained network answers
    coin: float = 0.02  # of all answers, either side of a half: what some thousand examples scatter by
    restless: float = 0.3  # σ of the logarithm of an evaluation: neighbours differ by a third and more
    visible: float = 0.1  # of the first evaluation: next to zero a logarithm is all noise
    calmer: float = 0.5  # times that noise, of the training loss
    times: float = 2.0  # the best level, for a loss that is positive by nature: its share of the progress may be small


@dataclass(frozen=True)
class Curve:
    """One curve that should improve, turned so that lower is better."""

    series: Series
    limits: Limits
    turned: bool  # a score whose sign was changed

    @cached_property
    def outline(self) -> Outline:
        return outline(self.series)

    @property
    def key(self) -> str:
        return "the loss" if self.series.vital == "loss" else self.series.key

    @property
    def first(self) -> float:
        return self.outline.start

    @property
    def now(self) -> float:
        return self.outline.now

    @property
    def best(self) -> float:
        return self.outline.best

    @property
    def lowest(self) -> float:
        return float(self.series.values.min())

    @property
    def highest(self) -> float:
        return float(self.series.values.max())

    def shown(self, value: float) -> float:
        """A level as the user knows it."""
        return -value if self.turned else value

    @property
    def level(self) -> float:
        return max(abs(self.first), abs(self.now))

    @property
    def won(self) -> float:
        """What was won from the start to the end, as a share of the level it began at."""
        return (self.first - self.now) / self.level if self.level > 0 else 0.0

    @property
    def improved(self) -> bool:
        """Clearly better at the end than at the start: by more than its noise and by more than a hair."""
        return self._beyond(self.first - self.now, self.limits.gain * self.level)

    @property
    def was_better(self) -> bool:
        """Whether it was ever clearly better than at its first reading."""
        first = float(self.series.values[0])
        least = self.limits.gain * max(abs(first), abs(self.best))
        late = self.series.values[len(self.series) // 2 :]  # the noise of the stretch that it is compared with
        below = first - float(np.median(late))
        return self._beyond(first - self.best, least) or below > max(least, self.limits.alone * noise_level(late))

    def _beyond(self, gain: float, least: float) -> bool:
        if gain <= least:
            return False
        return gain > self.limits.noise * self.outline.wander or self._falls

    @cached_property
    def _falls(self) -> bool:
        """Beyond chance; single batches that are mostly known scatter by factors, and show it on the logarithm."""
        if trend(self.series).falling or float(self.series.values.min()) <= 0:
            return trend(self.series).falling
        return trend(replace(self.series, values=np.log(self.series.values))).falling

    @property
    def lost(self) -> bool:
        """Whether it ends far from its own best: most of the progress is gone, or it is a multiple of the best."""
        gap, limits = self.now - self.best, self.limits
        if self.outline.best_place == len(self.outline.values) - 1:
            return False  # it ends at its best, and that was one reading: a last batch that was smaller
        if gap <= limits.noise * self.outline.wander:
            return False
        if gap > limits.lost * self.outline.progress and gap > limits.far * self.level:
            return True
        positive = self.best > 0 and self.now > limits.times * self.best
        return positive and math.log(self.now / self.best) > limits.lost * math.log(
            max(self.first, self.now) / self.best
        )

    @property
    def best_step(self) -> int:
        return int(self.outline.steps[self.outline.best_place])


class Learned:
    """The curves of a run that say whether it learned."""

    def __init__(self, run: Run, limits: Limits | None = None) -> None:
        self.run = run
        self.limits = limits or Limits()

    @cached_property
    def meant_to_fall(self) -> bool:
        """False for policy optimisation and for players with a loss each: the level of such a loss says nothing."""
        return meant_to_fall(self.run)

    @cached_property
    def training(self) -> Curve | None:
        return self._curve(training_loss(self.run), self.limits.readings) if self.meant_to_fall else None

    @cached_property
    def held_out(self) -> list[Curve]:
        """Validation losses."""
        if not self.meant_to_fall:
            return []
        return self._curves(validation_losses(self.run))

    @cached_property
    def metrics(self) -> list[Curve]:
        """Accuracies, error rates, rewards: whatever has a known better direction and is not a loss."""
        return self._curves([*held_out_scores(self.run), *([] if self.meant_to_fall else rewards(self.run))])

    @property
    def every(self) -> list[Curve]:
        return [*([self.training] if self.training else []), *self.held_out, *self.metrics]

    @cached_property
    def chance(self) -> Chance | None:
        return known_chance(self.run.config)

    @cached_property
    def metric_improved(self) -> bool:
        """Whether a held-out metric clearly rose: then a validation loss that does not fall is mere overconfidence."""
        for each in self.metrics:
            room = 1 - each.shown(each.first) if each.turned and each.shown(each.best) <= 1 else each.level
            if each.was_better and each.first - each.best > self.limits.metric_gain * abs(room):
                return True
        return False

    def metrics_went_on(self, curve: Curve) -> bool:
        """Whether the typical metric of a set got better since its loss was at its best, be it only at first."""
        change = typical_change(self.run, {curve.series.owner: curve.best_step})
        return change is not None and change >= BETTER_ONCE

    def guessed_accuracies(self) -> Iterator[tuple[Series, float]]:
        """Accuracies that never rose clearly above a blind guess, each with the share that a guess gets right."""
        for series in accuracies(self.run):
            if len(series) < self.limits.evaluations:
                continue
            best = float(outline(series).values.max())
            guess = self._guess(best)
            if guess is not None and best < min(2 * guess, guess + self.limits.metric_gain * (1 - guess)):
                yield series, guess

    def coin(self) -> Series | None:
        """A held-out accuracy that was a half at every evaluation, whatever its loss (of which nobody says what a guess
        costs) did meanwhile."""
        for series in accuracies(self.run):
            if len(series) < EVALUATIONS or float(abs(series.values - 0.5).max()) > self.limits.coin:
                continue
            if not trend(series).rising and not (self.chance and self.chance.classes > 2):
                return series
        return None

    def hardly_right(self) -> str:
        """That answers are nearly all wrong and no less so at the end, in words; nothing if they are not."""
        return flat_accuracy(self.run) or ("" if any(each.improved for each in self.metrics) else low_metric(self.run))

    def contradicting(self) -> Curve | None:
        """Evaluations that jump about while the training loss does not."""
        theirs = training_loss(self.run).finite().values
        for each in self.held_out[:1]:
            if not len(theirs) or min(each.lowest, float(theirs.min())) <= 0:
                continue
            values = each.series.values
            late = values[len(values) // 2 :]  # the steep start is no noise
            noise, visible = noise_level(np.log(late)), noise_level(late) > self.limits.visible * float(values[0])
            if visible and noise > max(self.limits.restless, noise_level(np.log(theirs)) / self.limits.calmer):
                return each
        return None

    def _guess(self, best: float) -> float | None:
        """The share of right answers that knows nothing: the commonest label's, or one of K classes."""
        share = self.run.series("label_share_max").median()
        if share > 0 and not (self.chance and self.chance.classes):
            return share
        if self.chance is not None and self.chance.classes:
            return max(1 / self.chance.classes, share if share > 0 else 0.0)
        if best <= 0:
            return None
        classes = round(1 / best)  # not given: as many as this accuracy would be a guess among, if the loss agrees
        losses = [each.first for each in [self.training, *self.held_out] if each is not None]
        near = any(
            abs(loss - math.log(classes)) <= self.limits.near_guess * math.log(classes)
            for loss in losses
            if classes >= 2
        )
        return 1 / classes if near else None

    @cached_property
    def apparent_chance(self) -> Chance | None:
        """A blind guess that nobody stated: the loss began at ln K and the first accuracies were about 1/K."""
        early = [each.head(-(-len(each) // self.limits.parts)).median() for each in accuracies(self.run)]
        classes = round(1 / max(early)) if early and max(early) > 0 else 0
        losses = [each for each in [self.training, *self.held_out] if each is not None]
        if self.chance is not None or classes < 2 or not losses:
            return None
        level = math.log(classes)
        if any(abs(float(each.series.values[0]) - level) > self.limits.near_guess * level for each in losses):
            return None
        return Chance(level, f"ln {classes:,}", known=False, classes=classes, confirmed=True)

    def _curves(self, every: list[Series]) -> list[Curve]:
        return [curve for each in every if (curve := self._curve(each, self.limits.evaluations)) is not None]

    def _curve(self, series: Series, fewest: int) -> Curve | None:
        finite = series.finite()
        if len(finite) < fewest:
            return None
        if goes_up(series.vital):
            return Curve(Series(series.vital, series.owner, finite.steps, -finite.values), self.limits, turned=True)
        return Curve(finite, self.limits, turned=False)
