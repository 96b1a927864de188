"""Where in the run a line of text stands: its step, found among the line's numbers.

A count over the whole run (`step 10/100`) is taken as it is. A count within the epoch (`Epoch 3: 10/500`,
`[3][10/500]`, or a step that begins anew whenever the epoch goes up) is added to the epochs before it. A line
that only names an epoch counts when nothing finer was ever said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bedside.logs.line_numbers import Found

# The first of these names in a line is its step: a count over the whole run before one that may begin again.
STEPS = (
    *("global_step", "global_steps", "step", "steps", "iteration", "iterations", "iter", "iters", "it"),
    *("update", "num_updates", "current_steps", "total_timesteps", "s"),
)
EPOCHS = ("epoch", "epochs", "ep")
BATCHES = ("", "batch", "batches", "minibatch")  # no name at all: a progress bar's 10/100


class Clock:
    """The step at hand, and what the text says about the length of the run."""

    def __init__(self) -> None:
        self.step: float | None = None
        self.axis = "epoch"
        self.length: dict[str, int] = {}  # max_steps, epochs, steps_per_epoch
        self._epoch: float | None = None
        self._counted: tuple[float, float] | None = None  # (epoch, step) as the last line had them
        self._before = 0.0  # steps of the epochs that are over, where the count begins anew in each
        self._whole_run = False  # a named step counts: a bare 10/100 is then something else's progress

    def read(self, found: Sequence[Found], *, evaluating: bool) -> set[str]:
        """Take the step from a line's numbers; returns the names that told it, which are no metrics."""
        named = {_plain(each.name): each for each in reversed(found)}
        nested = next((each for each in found if each.inner is not None and each.whole), None)
        step = _first(STEPS, named, lambda each: each.whole)
        epoch = _first(EPOCHS, named, lambda each: True)
        batch = _first(BATCHES, named, lambda each: bool(each.total) or (bool(each.name) and epoch is not None))
        said = {each.name for each in (nested, step, epoch, batch) if each is not None}
        if evaluating and step is None and (nested is not None or batch is not None):
            return said  # batches of an evaluation do not move the run
        if epoch is not None and nested is not epoch:
            self._epoch = epoch.value
            self._say("epochs", epoch.total)
        if nested is not None and nested.inner is not None:
            self._within(nested.value, nested.inner)
        elif step is not None:
            said |= {named[name].name for name in (*STEPS, *BATCHES) if name in named}
            self._over_all(step)
        elif batch is not None and not batch.total:
            self._over_all(batch)
        elif batch is not None and not self._whole_run:
            within = self._epoch is not None and self._epoch == int(self._epoch)
            self._within(self._epoch or 0.0, batch) if within else self._at(batch.value)
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
        self._at(epoch * (batch.total or 0.0) + batch.value)

    def _at(self, step: float) -> None:
        self.axis, self.step = "step", step

    def _say(self, what: str, value: float | None) -> None:
        if value:
            self.length.setdefault(what, int(value))


def _plain(name: str) -> str:
    """`Train Epoch`, `train/step` and `Summary: Epoch` as what they count."""
    plain = name.lower().rsplit(": ", 1)[-1]
    for before in ("trainer/", "train/", "train "):
        plain = plain.removeprefix(before)
    return plain


def _first(names: Sequence[str], named: Mapping[str, Found], fits: Callable[[Found], bool]) -> Found | None:
    return next((named[name] for name in names if name in named and fits(named[name])), None)
