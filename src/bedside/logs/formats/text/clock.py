"""Where in the run a line of text stands: its step, found among the line's numbers.

A count over the whole run (`step 10/100`) is taken as it is. A count within the epoch (`Epoch 3: 10/500`,
`[3][10/500]`, or a step that begins anew whenever the epoch goes up) is added to the epochs before it. A line
that only names an epoch counts when nothing finer was ever said.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from bedside.logs.formats.text.line_numbers import LEADING, Found
from bedside.naming.name_parts import SPLITS
from bedside.naming.other_languages import in_english

# The first of these names in a line is its step: a count over the whole run before one that may begin again.
STEPS = (
    *("global_step", "global_steps", "total_timesteps", "step", "steps", "iteration", "iterations", "iter", "iters"),
    *("it", "num_updates", "update", "up", "current_steps", "num_timesteps", "timesteps", "timestep", "s"),
    *("episode", "episodes"),
)
_STEP_WORDS = frozenset(("step", "steps", "iteration", "iterations", "iter", "iters", "update", "updates"))
EPOCHS = ("epoch", "epochs", "ep", "round")
# Counts over the whole run even where an evaluation names them: `Eval num_timesteps=500`.
OF_THE_RUN = (*EPOCHS, "global_step", "num_timesteps", "total_timesteps")
BATCHES = ("batch", "batches", "minibatch", "")  # no name at all: a progress bar's 10/100


class Clock:
    """The current step, and what the text says about the length of the run."""

    def __init__(self) -> None:
        self.step: float | None = None
        self.axis = "epoch"
        self.length: dict[str, int] = {}  # max_steps, epochs, steps_per_epoch
        self._epoch: float | None = None
        self._first_epoch: float | None = None  # 0 where epochs are counted from 0; most people count from 1
        self._counted: tuple[float, float] | None = None  # (epoch, step) as the last line had them
        self._before = 0.0  # steps of the epochs that are over, where the count begins anew in each
        self._whole_run = False  # a named step counts: a bare 10/100 is then something else's progress
        self._fractions = False  # epochs are written as 1.25, or beside a bar: a bare 10/100 counts over the run
        self._last: Found | None = None  # the last bar, and the epoch when it was seen
        self._epoch_of_last: float | None = None
        self._bar: float | None = None  # the length of the last progress bar
        self._bar_of_training: float | None = None  # of the bar, 0 if none, under which a training loss was read

    @property
    def epoch(self) -> float | None:
        return self._epoch

    def read(self, found: Sequence[Found], *, evaluating: bool, trains: bool = False) -> set[str]:
        """Take the step from a line's numbers; returns the names it was read from, which are not metrics.

        `trains` says that the line has a training loss of its own.
        """
        named = {counts(each.name): each for each in reversed(found)}
        bar = next((each for each in found if not each.name and each.total), None)
        if bar is not None:
            named[""] = bar  # the first of several bare numbers that is one of so many
        nested = next((each for each in found if each.inner is not None and each.whole), None)
        step = _first(STEPS, named, lambda each: each.whole)
        epoch = _first(EPOCHS, named, lambda each: bool(each.total) or counts(each.name) != "epochs")  # a setting
        batch = _first(BATCHES, named, lambda each: bool(each.total) or (bool(each.name) and epoch is not None))
        said = {each.name for each in (nested, step, epoch, batch) if each is not None}
        if evaluating and step is None and (nested is not None or batch is not None):
            return said  # batches of an evaluation do not move the run
        if bar is not None and batch is bar and not trains and self._bar_of_training not in (None, bar.total):
            batch = None  # another bar than that of the training: an evaluation, a download
        elif bar is not None:
            self._bar = bar.total
        if trains and self._bar_of_training is None:
            self._bar_of_training = self._bar or 0.0
        if epoch is not None and nested is not epoch:
            self._epoch = epoch.value
            self._fractions |= epoch.value != int(epoch.value) if math.isfinite(epoch.value) else False
            self._say("epochs", epoch.total)
        if nested is not None and nested.inner is not None and nested.inner.total:
            self._say("epochs", nested.total)
            self._within(nested.value, nested.inner)
        elif nested is not None and nested.inner is not None:
            self._epoch = nested.value
            self._over_all(nested.inner)
        elif step is not None:
            said |= {named[name].name for name in (*STEPS, *BATCHES) if name in named}
            self._over_all(step)
        elif batch is not None and not batch.total:
            self._over_all(batch)
        elif batch is not None and not self._whole_run:
            self._along(batch)
        elif epoch is None and LEADING in named and named[LEADING].whole:
            said.add(LEADING)
            self._over_all(named[LEADING])
        elif epoch is not None and (self.step is None or self.axis == "epoch"):
            self.step = epoch.value
        return said

    def _over_all(self, step: Found) -> None:
        self._whole_run = True
        if self._epoch is not None:
            if self._counted and self._epoch > self._counted[0] and step.value <= self._counted[1]:
                self._before += step.total or self._counted[1] + 1.0
                self._say("steps_per_epoch", step.total)
            self._counted = (self._epoch, step.value)
        if not self._before:
            self._say("max_steps", step.total)
        self._at(self._before + step.value)

    def _within(self, epoch: float, batch: Found) -> None:
        self._say("steps_per_epoch", batch.total)
        self._first_epoch = min(epoch, 1.0 if self._first_epoch is None else self._first_epoch)
        self._at((epoch - self._first_epoch) * (batch.total or 0.0) + batch.value)

    def _along(self, bar: Found) -> None:
        """A bare 10/100: within the epoch that was named, or over the run, or over epochs that nobody names."""
        last, self._last = self._last, bar
        before, self._epoch_of_last = self._epoch_of_last, self._epoch
        if last is not None and bar.total == last.total != last.value < bar.value and self._epoch != before:
            self._fractions = True  # another epoch, and the bar goes on
        if self._epoch is not None and not self._fractions:
            self._within(self._epoch, bar)
            return
        if self._fractions:
            self._say("max_steps", bar.total)
        elif last is not None and bar.total == last.total == last.value > bar.value:  # the bar was full: an epoch
            self._before += bar.total or 0.0
        self._at(self._before + bar.value)

    def _at(self, step: float) -> None:
        self.axis, self.step = "step", step

    def _say(self, what: str, value: float | None) -> None:
        if value:
            self.length.setdefault(what, int(value))


@lru_cache(maxsize=10_000)  # the same few names on every line
def counts(name: str) -> str:
    """`Train Epoch`, `train/step`, `Época` and `Summary: Epoch` as what they count."""
    plain = name.lower().rsplit(": ", 1)[-1].rstrip(".")
    for before in ("trainer/", "time/", "train/", "train "):
        plain = plain.removeprefix(before)
    words = in_english(plain.replace(" ", "_").split("_"))
    if len(words) > 1 and set(words) <= _STEP_WORDS:  # `Iteration step: 1300`
        words = words[-1:]
    if words[0] in SPLITS and "_".join(words[1:]) in OF_THE_RUN:  # `Test Epoch: [3/90]`
        words = words[1:]
    return "_".join(words)


def _first(names: Sequence[str], named: Mapping[str, Found], fits: Callable[[Found], bool]) -> Found | None:
    return next((named[name] for name in names if name in named and fits(named[name])), None)
