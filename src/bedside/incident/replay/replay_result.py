"""What a replay shows, in words and as data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bedside.incident.replay.attribution import Sample
from bedside.report.json import plain
from bedside.training.nonfinite.hunt import Culprit
from bedside.wording import count, listed, number, percent

SHOWN = 5  # samples


@dataclass(frozen=True)
class Experiment:
    """The step with and without some samples."""

    rows: tuple[int, ...]
    names: tuple[str, ...]
    with_them: float  # the loss, or the gradient norm for a spike of it; NaN where it is not finite
    without: float
    decides: bool  # with them it fails, without them it does not


@dataclass(frozen=True)
class Replay:
    """What the second run of the step showed; true if it failed again."""

    step: int
    kind: str
    reproduced: bool
    exact: bool | None  # the same bits in every loss and gradient; None: there was nothing to compare
    differences: tuple[str, ...]
    losses: tuple[float, ...]
    culprit: Culprit | None = None
    line: str = ""  # of an exception
    samples: tuple[Sample, ...] = ()  # for a spike, largest share of the gradient first
    experiment: Experiment | None = None
    notes: tuple[str, ...] = field(default=())

    def __bool__(self) -> bool:
        return self.reproduced

    def lines(self) -> Iterator[str]:
        losses = f"loss {', '.join(number(each) for each in self.losses)}" if self.losses else "no loss"
        if not self.reproduced:
            yield f"Step {count(self.step)} does not fail again: {losses}."
            yield f"  It was: {self.kind}. The same weights, batch and random numbers give another result, so the"
            yield "  reason is non-determinism or hardware (or memory, where it ran out), not this batch alone."
        else:
            bits = {True: ", the same bits as then", False: ", but not the same bits", None: ""}[self.exact]
            yield f"Step {count(self.step)} fails again: {self.kind}, {losses}{bits}."
        yield from (f"  differs   {each}" for each in self.differences)
        if self.culprit is not None:
            yield from self.culprit.lines("First")
        if self.line:
            yield f"  line      {self.line}"
        yield from self._about_samples()
        yield from (f"  {each}" for each in self.notes)

    def _about_samples(self) -> Iterator[str]:
        for each in self.samples[:SHOWN]:
            of_gradient = "not looked at" if each.gradient_share is None else percent(each.gradient_share)
            yield f"  {each.name}: {percent(each.loss_share)} of the loss, {of_gradient} of the gradient"
        if self.experiment is not None:
            test = self.experiment
            names = listed(list(test.names))
            runs = f"with {number(test.with_them)}, without {number(test.without)}"
            if test.decides:
                yield f"  The cause is {names}: run again {runs}."
            else:
                yield f"  Suspected: {names}; but run again {runs}, so that is not the whole of it."

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists for `json.dumps`."""
        return {"text": str(self), **plain(self)}
