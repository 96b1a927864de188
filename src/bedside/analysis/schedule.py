"""The learning-rate schedule as it was really used, read off the `lr` series alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bedside.record.run import Run
from bedside.record.series import Series
from bedside.record.vocabulary import LR

SAME = 1e-6  # relative: two learning rates this close are one, written twice
OVER = 0.1  # of the peak: cosine schedules of language models end at a tenth
MIN_RATES = 10  # readings of the learning rate that make a schedule
FIRST_RISE, FIRST_RISE_SHARE = 10, 0.1  # readings, and of them: one that counts epochs rests through its first
NAMED_BY = ("schedulers", "lr_scheduler_type", "lr_scheduler", "scheduler", "lr_schedule", "scheduler_type")
NOTHING = 1e-3  # of the peak: a step-wise schedule's usual last level is not below it
RESTS = 0.2  # of the time since it was next to nothing: from then on the rate is the same, or it was on its way
FALL, FALL_SHARE = 10, 0.02  # readings, and of them, from the peak to nothing: faster, and somebody switched it off
LEVELS = 5  # different rates on the way down: a step-wise schedule has no more
DIGITS = 3  # of the decimal logarithm: rates that differ by less than a quarter of a percent are one


@dataclass(frozen=True)
class Schedule:
    """`rates` is the series; the rest are indices into it."""

    rates: Series
    peak: float
    warm: int  # the first reading at the peak
    vanished: int  # the reading from which on the rate is less than NOTHING of the peak; the length if it never is
    resting: int  # the reading from which on the rate no longer changes

    @property
    def steps_after_vanishing(self) -> float:
        """Which share of the steps seen was taken with next to no learning rate."""
        if self.vanished >= len(self.rates):
            return 0.0
        first, last = self.rates.first_step, self.rates.last_step
        return (last - int(self.rates.steps[self.vanished]) + 1) / max(1, last - first + 1)

    @property
    def ran_out(self) -> bool:
        """Whether it came down by degrees and then rested at next to nothing: a schedule that was over."""
        if self.vanished >= len(self.rates):
            return False
        fall = self.vanished - self.warm
        since = len(self.rates) - self.vanished
        rests = self.resting < len(self.rates) - 1 and self.resting <= self.vanished + RESTS * since
        enough = max(FALL, FALL_SHARE * len(self.rates))
        return rests and fall >= enough and self.levels(self.warm, self.vanished) > LEVELS

    def levels(self, start: int, stop: int) -> int:
        """How many different rates there are between two readings: a cosine has many, a step-wise schedule few."""
        return len(np.unique(np.round(np.log10(np.maximum(self.rates.values[start:stop], 1e-30)), DIGITS)))


def planned_steps(run: Run) -> int:
    """How many steps the run was meant to take, as far as its settings say; 0 when they do not."""
    for name in ("max_steps", "total_steps", "num_training_steps"):
        value = run.config.get(name)
        if isinstance(value, (int, float)) and value > 0 and run.axis == "step":
            return int(value)
    epochs = run.config.get("epochs")
    if not isinstance(epochs, (int, float)) or epochs <= 0:
        return 0
    return int(epochs) if run.axis == "epoch" or abs(run.steps - epochs) <= 1 else 0  # a step of the log is an epoch


def schedulers(run: Run) -> list[Mapping[str, Any]]:
    """One mapping per scheduler of a watched run (`name`, `stepped`), or the schedule that a log's settings name."""
    named = (run.config.get(key) for key in NAMED_BY)
    known = next((each for each in named if each and isinstance(each, (str, Mapping, list, tuple))), [])
    if not known and run.config.get("scheduler_attached"):  # one was made, and nobody ever called it
        known = {"name": "A scheduler", "stepped": 0}
    if isinstance(known, (str, Mapping)):
        known = [known]
    return [each if isinstance(each, Mapping) else {"name": str(each)} for each in known]


def read_schedule(run: Run) -> Schedule | None:
    """The schedule of the first parameter group; None when no rate above zero was ever used."""
    rates = run.series(LR.name).finite()
    if not rates or not rates.values.max() > 0:
        return None
    values = np.where(rates.values == 0.0, _zero_may_be(run), rates.values)
    peak = float(values.max())
    high = np.flatnonzero(values > NOTHING * peak)
    moved = np.flatnonzero(np.abs(np.diff(values)) > SAME * peak * NOTHING)
    return Schedule(
        rates,
        peak,
        warm=int(np.flatnonzero(values >= peak * (1 - SAME))[0]),
        vanished=int(high[-1]) + 1,
        resting=int(moved[-1]) + 1 if len(moved) else 0,
    )


def _zero_may_be(run: Run) -> float:
    """What a rate of zero may be at most: a log that prints four digits writes 0.0000 for 0.00004."""
    rounded = run.environment.get("rounded")
    return float(rounded.get(LR.name, 0.0)) if isinstance(rounded, Mapping) else 0.0


def warming_up(run: Run) -> bool:
    """The learning rate has risen from the first steps on, and is still rising.

    A rate that was constant for long and then rises is not a warm-up: what a run does at its usual rate counts.
    """
    rates = run.series("lr").finite().values
    rises = np.flatnonzero(np.diff(rates) > 0)
    if len(rates) <= 2 or not len(rises) or bool((np.diff(rates) < 0).any()):
        return False
    return rates[-1] > rates[-2] and int(rises[0]) <= max(FIRST_RISE, FIRST_RISE_SHARE * len(rates))


def schedule_is_over(run: Run) -> bool:
    """The rate came down by degrees to a small part of its peak, as a finished schedule does."""
    schedule = read_schedule(run)
    if schedule is None or len(schedule.rates) < MIN_RATES:
        return False
    return schedule.rates.last <= OVER * schedule.peak and schedule.levels(schedule.warm, len(schedule.rates)) > LEVELS
