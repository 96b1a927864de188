"""Which learning rate to use: a sweep of rising rates (Smith, 2015), then short forks that confirm the best few.

The sweep trains for some hundred steps while the rate grows exponentially, several times on different batches. It shows
where the loss falls fastest and where it diverges, but what wins one step can lose in the long run, and from good
weights (fine-tuning) rising rates show only harm. So rates around what the sweep says are trained for real, each from
the same start on the same batches, and the fork with the lowest loss at its end decides. Where neither gives an answer,
the result says so and why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn
from torch.optim import Optimizer

from bedside.errors import BadOption
from bedside.lab.experiment_result import Result
from bedside.lab.lr_curve import Curve, has_diverged, read_curve
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.representative import unrepresentative
from bedside.lab.session import Session, session
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop
from bedside.wording import listed, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Limits:
    """How forks are chosen and judged."""

    spacing: float = 10**0.5  # between forks: half a decade, as far as a rate need be known
    below: float = 30.0  # times less than the steepest point: the smallest fork
    most: int = 8  # forks
    tail: float = 0.25  # of a fork: the part whose mean loss decides
    gain: float = 3.0  # standard errors of the difference from not training at all: less may be chance
    little: float = 0.3  # of the loss: a smaller gain over several passes may be memory
    tie: float = 1.0  # standard errors of the paired difference: closer forks count as equal


@dataclass(frozen=True)
class Fork:
    """One rate, trained for real from the same start on the same batches."""

    rate: float
    loss: float  # mean over the fork's end; inf if it diverged
    error: float  # standard error of its difference from the best
    losses: tuple[float, ...]


@dataclass(frozen=True)
class LrRange(Result):
    """The suggestion, what it rests on, and whether to trust it."""

    experiment = "lr_range"
    panels = 2
    suggestion: float  # NaN if there is none
    usable: bool
    reason: str  # why not to use it, or what it rests on
    warnings: tuple[str, ...]
    curve: Curve
    forks: tuple[Fork, ...]
    repeats: int

    def __bool__(self) -> bool:
        return self.usable

    @property
    def band(self) -> tuple[float, float]:
        """Rates that did as well as the suggestion, as far as could be measured."""
        best = min((each.loss for each in self.forks), default=math.nan)
        good = [each.rate for each in self.forks if each.loss - best <= Limits.tie * each.error]
        return (min(good), max(good)) if good else (self.curve.steepest_low, self.curve.steepest_high)

    def lines(self) -> Iterator[str]:
        if self.usable:
            low, high = self.band
            around = f"{number(low, 2)} to {number(high, 2)} did as well" if high > low else "no other fork did as well"
            yield f"Use a learning rate of about {number(self.suggestion, 2)} ({around}): {self.reason}."
        else:
            yield f"Do not use this: {self.reason}."
        yield from (f"  Warning: {each}." for each in self.warnings)
        curve = self.curve
        if math.isfinite(curve.steepest):
            yield (
                f"  sweep: steepest at {number(curve.steepest, 2)} ({number(curve.steepest_low, 2)} to "
                f"{number(curve.steepest_high, 2)} over {self.repeats} repeats), valley at {number(curve.valley, 2)}, "
                f"lowest at {number(curve.minimum, 2)}, diverges at {number(curve.divergence, 2)}"
            )
        for fork in self.forks:
            reached = number(fork.loss) if math.isfinite(fork.loss) else "diverged"
            yield f"  fork at {number(fork.rate, 2):>8}: loss {reached} after {len(fork.losses)} steps"

    def draw(self, *axes: Axes) -> None:
        left, right = axes
        curve = self.curve
        left.semilogx(curve.rates, curve.losses, color="#3b82f6")
        left.fill_between(
            curve.rates, curve.low, curve.high, color="#3b82f6", alpha=0.2, label=f"{self.repeats} repeats"
        )
        for name, rate, style in (("steepest", curve.steepest, ":"), ("diverges", curve.divergence, "--")):
            if math.isfinite(rate):
                left.axvline(rate, color="grey", linestyle=style, label=f"{name} {number(rate, 2)}")
        if self.usable:
            left.axvline(self.suggestion, color="#e5484d", label=f"use {number(self.suggestion, 2)}")
        finite = [value for value in curve.losses if math.isfinite(value)]
        if finite:
            left.set_ylim(
                min(finite) - 0.05 * abs(min(finite)), curve.losses[0] + 0.5 * (curve.losses[0] - min(finite)) + 1e-9
            )
        left.set(xlabel="learning rate", ylabel="loss, smoothed", title="Sweep")
        left.legend(fontsize=8)
        good = [each for each in self.forks if math.isfinite(each.loss)]
        right.errorbar(
            [each.rate for each in good],
            [each.loss for each in good],
            [each.error for each in good],
            marker="o",
            capsize=3,
        )
        for each in self.forks:
            if not math.isfinite(each.loss):
                right.axvline(each.rate, color="#e5484d", alpha=0.4)
        right.set_xscale("log")
        right.set(xlabel="learning rate", ylabel="loss at the end of the fork", title="Forks from the same start")


@experiment
def lr_range(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    low: float = 1e-7,
    high: float = 10.0,
    points: int = 100,
    repeats: int = 3,
    fork_steps: int = 120,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> LrRange:
    """Find a learning rate for this model, data and optimizer from the present weights.

    Args:
        optimizer: The one that will be used; several groups keep the ratios of their rates, and the suggestion is
            for the first of them.
        points: Steps of one sweep from `low` to `high`.
        repeats: Sweeps on different batches; they give the band.
        fork_steps: Length of each confirming fork; 0 leaves them out and trusts the sweep alone.
        loop: Accumulation, autocast, scaler and clipping of your loop; a scheduler is left out here.
    """
    if not 0 < low < high or points < 20 or repeats < 1:
        raise BadOption(
            f"low={low}, high={high}, points={points}, repeats={repeats}.",
            expected="0 < low < high, at least 20 points and one repeat",
            try_="lab.lr_range(model, loader, loss_fn, optimizer, low=1e-7, high=10.0)",
        )
    rates = np.geomspace(low, high, points)
    with session(model, loader, loss_fn, optimizer, forward=forward, loop=loop) as at:
        at.training.loop = replace(at.training.loop, scheduler=None)
        shares = _shares(at.training.needed_optimizer())
        sweeps = np.full((repeats, points), np.nan)
        for repeat in range(repeats):
            losses = list(
                shown(_sweep(at, rates, shares, repeat * points), f"sweep {repeat + 1}", total=points, show=progress)
            )
            sweeps[repeat, : len(losses)] = losses
        curve = read_curve(rates, sweeps)
        candidates = _candidates(curve, low, high) if fork_steps else []
        forks = _forked(at, candidates, shares, fork_steps, progress)
        control = list(_fork(at, 0.0, shares, fork_steps))
        odd = unrepresentative(at.training.loss, at.training.batches.first(24))
        epochs = fork_steps * at.training.loop.accumulate / (at.training.batches.per_epoch or math.inf)
    return _decided(curve, forks, control, repeats, odd, epochs)


def _decided(
    curve: Curve, forks: Sequence[Fork], control: Sequence[float], repeats: int, odd: str, epochs: float
) -> LrRange:
    warnings = [odd] if odd else []
    finite = [each for each in forks if math.isfinite(each.loss)]
    if not forks:
        reason = "from the sweep alone" if curve.usable else curve.reason
        rate = curve.steepest if curve.usable else math.nan
        return LrRange(rate, curve.usable, reason, tuple(warnings), curve, (), repeats)
    if not finite:
        return LrRange(math.nan, False, "every fork diverged", tuple(warnings), curve, tuple(forks), repeats)
    if not curve.usable:
        warnings.append(f"the sweep gives no answer ({curve.reason}); the forks alone decide")
    best = min(finite, key=lambda each: each.loss)
    if not _improves(best, control):
        reason = "no rate improved the loss within a fork: more steps are needed, or the model cannot learn"
        return LrRange(math.nan, False, reason, tuple(warnings), curve, tuple(forks), repeats)
    tied = [each.rate for each in finite if each.loss - best.loss <= Limits.tie * each.error]
    rate = tied[0] if len(tied) == 1 else math.exp(sum(map(math.log, tied)) / len(tied))
    if max(tied) > 10.5 * min(tied):
        warnings.append(
            f"rates from {number(min(tied), 2)} to {number(max(tied), 2)} differ too little to rank in so few steps"
        )
    rates = [each.rate for each in forks]
    if best.rate == min(rates) or (best.rate == max(rates) and len(finite) == len(forks)):
        warnings.append(
            f"the best fork is at the edge of those tried ({listed([number(each, 2) for each in rates], 8)})"
        )
    if short := _seen_often(best, control, epochs):
        warnings.append(short)
    basis = f"the best of {len(forks)} forks of {len(best.losses)} steps"
    return LrRange(rate, True, basis, tuple(warnings), curve, tuple(forks), repeats)


def _shares(optimizer: Optimizer) -> list[float]:
    """Each group's rate relative to the first group's: discriminative rates stay so."""
    rates = [float(group["lr"]) for group in optimizer.param_groups]
    first = next((rate for rate in rates if rate > 0), 1.0)
    return [rate / first if rate > 0 else (1.0 if all(each == 0 for each in rates) else 0.0) for rate in rates]


def _set_rate(optimizer: Optimizer, rate: float, shares: Sequence[float]) -> None:
    for group, share in zip(optimizer.param_groups, shares, strict=True):
        group["lr"] = rate * share


def _sweep(at: Session, rates: Any, shares: Sequence[float], first: int) -> Iterator[float]:
    at.rewind()
    at.training.train_mode()
    losses: list[float] = []
    for place, rate in enumerate(rates):
        _set_rate(at.training.needed_optimizer(), float(rate), shares)
        losses.append(at.training.step(first + place))
        yield losses[-1]
        if has_diverged(losses):
            return


def _candidates(curve: Curve, low: float, high: float) -> list[float]:
    """Rates to fork, half a decade apart, from well below the steepest point to where the sweep diverged."""
    limits = Limits()
    top = min(curve.divergence, high) if math.isfinite(curve.divergence) else high
    bottom = curve.steepest / limits.below if curve.usable else top / limits.spacing**limits.most
    bottom = max(bottom, low, top / limits.spacing ** (limits.most - 1))
    count = math.floor(math.log(top / bottom) / math.log(limits.spacing) + 1e-9) + 1
    return [top / limits.spacing**place for place in reversed(range(min(count, limits.most)))]


def _forked(
    at: Session, rates: Sequence[float], shares: Sequence[float], steps: int, progress: bool | None
) -> tuple[Fork, ...]:
    curves = [list(_fork(at, rate, shares, steps)) for rate in shown(rates, "forks", show=progress)]
    tail = max(4, int(Limits.tail * steps))
    ends = [np.asarray(each[-tail:]) if len(each) == steps and np.isfinite(each).all() else None for each in curves]
    if not curves:
        return ()
    means = [float(each.mean()) if each is not None else math.inf for each in ends]
    best = ends[int(np.argmin(means))]
    forks = []
    for rate, losses, end, mean in zip(rates, curves, ends, means, strict=True):
        error = math.nan if end is None or best is None else float(np.std(end - best)) / math.sqrt(tail)
        forks.append(Fork(rate, mean, error, tuple(losses)))
    return tuple(forks)


def _fork(at: Session, rate: float, shares: Sequence[float], steps: int) -> Iterator[float]:
    at.rewind()
    at.training.train_mode()
    _set_rate(at.training.needed_optimizer(), rate, shares)
    losses: list[float] = []
    for step in range(steps):
        losses.append(at.training.step(step))
        yield losses[-1]
        if has_diverged(losses):
            return


def _seen_often(fork: Fork, control: Sequence[float], epochs: float) -> str:
    """A small gain over several passes of the data may be memory: fine-tuning on little data looks so."""
    tail = max(4, int(Limits.tail * len(control)))
    before = float(np.mean(control[-tail:]))
    if epochs <= 1 or before - fork.loss > Limits.little * abs(before):
        return ""
    return (
        f"forks saw the data {number(epochs, 2)} times and gained little: it may be memory, so check on held-out data"
    )


def _improves(fork: Fork, control: Sequence[float]) -> bool:
    """Whether the fork ended below the same batches without any training, beyond chance."""
    tail = max(4, int(Limits.tail * len(control)))
    gain = np.asarray(control[-tail:]) - np.asarray(fork.losses[-tail:])
    return float(gain.mean()) > Limits.gain * float(gain.std()) / math.sqrt(tail)
