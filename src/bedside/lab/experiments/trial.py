"""The prescription, proven: the training is forked under each treatment and an untreated control, and compared.

All forks of a repeat start from the present state and see the same batches and random numbers, so that the difference
is the treatment's. Each is measured on batches that no fork has trained on (or on the validation loader). A treatment
is said to help only if the 95 % confidence interval of the paired difference lies below zero, or if the control
diverges and the treated forks do not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn
from torch.optim import Optimizer

from bedside.errors import BadOption
from bedside.lab.experiment_result import Result
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import Session, session
from bedside.lab.treatments import Treatment, proposed
from bedside.training.forward import Forward, LossFunction
from bedside.training.loader import Batches
from bedside.training.step import Loop
from bedside.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Two-sided 95 % quantiles of Student's t for 1 to 9 degrees of freedom: with few repeats the normal one is too narrow.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
CONTROL = Treatment("control", lambda training: None)


@dataclass(frozen=True)
class Arm:
    """One treatment over all repeats."""

    name: str
    losses: tuple[float, ...]  # after the fork, per repeat; inf where it diverged
    difference: float  # mean of treated minus control, over repeats in which both are finite
    interval: tuple[float, float]  # of that difference
    won: int  # repeats in which it ended below the control
    verdict: str  # helps, hurts, no clear effect

    @property
    def loss(self) -> float:
        """Mean over repeats; inf if any diverged."""
        return float(np.mean(self.losses))


@dataclass(frozen=True)
class Trial(Result):
    """Every treatment beside the control, best first."""

    experiment = "trial"
    arms: tuple[Arm, ...]
    control: tuple[float, ...]
    start: float
    steps: int

    @property
    def best(self) -> Arm | None:
        """The treatment that helped most; None if none did."""
        return next((arm for arm in self.arms if arm.verdict == "helps"), None)

    def lines(self) -> Iterator[str]:
        control = number(float(np.mean(self.control))) if np.isfinite(self.control).all() else "diverged"
        best = self.best
        if best is None:
            yield f"No treatment clearly helps within {self.steps} steps (control: {number(self.start)} → {control})."
        else:
            yield (
                f"{best.name}: loss after {self.steps} steps {number(self.start)} → {_shown(best.loss)} "
                f"(control {control}), won {best.won} of {len(best.losses)}."
            )
        width = max(len(arm.name) for arm in self.arms)
        for arm in self.arms:
            low, high = arm.interval
            between = f"{number(arm.difference)} ({number(low)} to {number(high)})" if math.isfinite(low) else ""
            row = f"  {arm.name:<{width}}  {_shown(arm.loss):>8}  {arm.verdict:<15} won {arm.won} of {len(arm.losses)}"
            yield f"{row}  {between}".rstrip()

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        arms = [arm for arm in reversed(self.arms) if math.isfinite(arm.loss)]
        colours = {"helps": "#30a46c", "hurts": "#e5484d"}
        for place, arm in enumerate(arms):
            ax.plot(arm.losses, [place] * len(arm.losses), "o", color=colours.get(arm.verdict, "#6b7280"), alpha=0.6)
        if np.isfinite(self.control).all():
            ax.axvline(float(np.mean(self.control)), color="black", linestyle="--", label="control")
        ax.axvline(self.start, color="grey", linestyle=":", label="start")
        ax.set_yticks(range(len(arms)), [arm.name for arm in arms])
        ax.set(xlabel=f"loss after {self.steps} steps, one point per repeat", title="Treatments, best at the top")
        ax.legend()


@experiment
def trial(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    treatments: Sequence[Treatment] | None = None,
    *,
    steps: int = 100,
    repeats: int = 5,
    evaluation: int = 8,
    val_loader: Iterable[Any] | None = None,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> Trial:
    """Fork the training from its present state, modes included, under each treatment.

    Args:
        treatments: What to try, from `bedside.lab.treatments` or of your own making; by default what suits the
            training: other learning rates, clipping, skipped batches, other precision, re-initialised dead units, …
        steps: Length of each fork.
        repeats: On other batches and random numbers each.
        evaluation: Batches each fork is measured on in the end.
        val_loader: Measure on this instead of on further batches of the loader.
    """
    if repeats < 2 or steps < 1:
        raise BadOption(
            f"repeats={repeats}, steps={steps}.",
            expected="at least two repeats, so that there is an interval, and one step",
            try_="lab.trial(model, loader, loss_fn, optimizer, steps=100, repeats=5)",
        )
    with session(model, loader, loss_fn, optimizer, forward=forward, loop=loop) as at:
        at.training.needed_optimizer()
        chosen = list(treatments) if treatments is not None else list(proposed(at.training))
        at.rewind()
        held_out = _held_out(at, val_loader, steps * repeats * at.training.loop.accumulate, evaluation)
        start = at.evaluated(held_out)
        results: dict[str, list[float]] = {each.name: [] for each in [CONTROL, *chosen]}
        plan = [(repeat, each) for repeat in range(repeats) for each in [CONTROL, *chosen]]
        for repeat, each in shown(plan, "forks", show=progress):
            results[each.name].append(_fork(at, each, repeat, steps, held_out))
    control = tuple(results.pop(CONTROL.name))
    arms = [_compared(name, tuple(losses), control) for name, losses in results.items()]
    arms.sort(key=lambda arm: (sum(not math.isfinite(each) for each in arm.losses), _finite_mean(arm.losses)))
    return Trial(tuple(arms), control, start, steps)


def _held_out(at: Session, val_loader: Iterable[Any] | None, used: int, count: int) -> list[Any]:
    if val_loader is not None:
        return Batches(val_loader).first(count)
    batches = at.training.batches
    first = batches.first(count)  # a short loader has no batches that were not trained on
    return first if len(first) < count else [batches[used + place] for place in range(count)]


def _fork(at: Session, treatment: Treatment, repeat: int, steps: int, held_out: list[Any]) -> float:
    at.rewind()
    torch.manual_seed(repeat)  # the same for every treatment of a repeat
    before = at.training.loop
    at.training.loop = replace(before)
    at.training.forget_norms()
    try:
        each_step = treatment.apply(at.training)
        for step in range(steps):
            if each_step is not None:
                each_step(step)
            if not math.isfinite(at.training.step(repeat * steps + step)) and at.training.loop.skip_above is None:
                return math.inf
        return at.evaluated(held_out)
    finally:
        at.training.loop = before


def _compared(name: str, losses: tuple[float, ...], control: tuple[float, ...]) -> Arm:
    won = sum(treated < untreated for treated, untreated in zip(losses, control, strict=True))
    pairs = [(a, b) for a, b in zip(losses, control, strict=True) if math.isfinite(a) and math.isfinite(b)]
    if len(pairs) < 2:
        saved = all(map(math.isfinite, losses)) and not any(map(math.isfinite, control))
        lost = all(map(math.isfinite, control)) and not any(map(math.isfinite, losses))
        verdict = "helps" if saved else "hurts" if lost else "no clear effect"
        return Arm(name, losses, math.nan, (math.nan, math.nan), won, verdict)
    differences = np.asarray([a - b for a, b in pairs])
    mean = float(differences.mean())
    reach = STUDENT[min(len(pairs) - 2, len(STUDENT) - 1)] * float(differences.std(ddof=1)) / math.sqrt(len(pairs))
    low, high = mean - reach, mean + reach
    unstable = not all(map(math.isfinite, losses))
    verdict = "helps" if high < 0 and not unstable else "hurts" if low > 0 or unstable else "no clear effect"
    return Arm(name, losses, mean, (low, high), won, verdict)


def _finite_mean(losses: Sequence[float]) -> float:
    finite = [each for each in losses if math.isfinite(each)]
    return sum(finite) / len(finite) if finite else math.inf


def _shown(loss: float) -> str:
    return number(loss) if math.isfinite(loss) else "diverged"
