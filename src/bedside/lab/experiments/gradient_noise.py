"""How noisy the gradient is, and so which batch size is useful (McCandlish et al., 2018).

The noise scale is the sum of the gradient's variances over examples divided by its squared length. Far below it,
doubling the batch nearly halves the steps; far above, more examples per step are wasted. It is estimated without bias
from the gradients of some batches, with a jackknife confidence interval.

With an optimizer, the linear scaling rule is tried, not assumed: the same number of examples, once in small batches
and once in batches `factor` times as large, with the learning rate unchanged, times √factor, and times factor.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.optim import Optimizer

from bedside.errors import BadOption
from bedside.lab.experiment_result import Result
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import Session, session
from bedside.training.batches import rows_in
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop
from bedside.wording import count, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EVALUATION = 8  # batches that the forks of the scaling rule are measured on


@dataclass(frozen=True)
class Scaling:
    """One way to use large batches, beside the small ones on the same examples."""

    rule: str
    rate: float  # times the present learning rate
    loss: float  # after the fork; inf if it diverged


@dataclass(frozen=True)
class GradientNoise(Result):
    """The noise scale in examples, with its interval, and what the scaling rules did."""

    experiment = "gradient_noise"
    noise_scale: float  # examples; NaN if the mean gradient is within noise of zero
    interval: tuple[float, float]
    batch_size: int
    batches: int
    factor: int
    small: float  # loss after the fork with the present batch size; NaN if no optimizer was given
    start: float
    scalings: tuple[Scaling, ...]

    @property
    def best_rule(self) -> Scaling | None:
        """The rule whose large batches came nearest to the small ones, or beat them."""
        finite = [each for each in self.scalings if math.isfinite(each.loss)]
        return min(finite, key=lambda each: each.loss, default=None)

    def lines(self) -> Iterator[str]:
        low, high = self.interval
        if math.isnan(self.noise_scale):
            yield f"The gradient is all noise: {self.batches} batches of {self.batch_size} agree on no direction."
            yield "  A larger batch, or more batches here, would be needed to see one."
            return
        yield (
            f"The useful batch size is about {count(round(self.noise_scale))} examples "
            f"({count(max(1, round(low)))} to {'more' if math.isinf(high) else count(round(high))}); "
            f"it is {count(self.batch_size)} now."
        )
        ratio = self.batch_size / self.noise_scale
        if ratio < 0.3:
            yield f"  Noise dominates: a batch up to {number(1 / ratio)} times as large would need fewer steps."
        elif ratio > 3:
            yield "  The batch is larger than the noise asks for: a smaller one would learn more per example."
        else:
            yield "  The batch is of the right size: signal and noise are about equal."
        if self.scalings:
            yield f"  Linear scaling, tried with batches {self.factor} times as large on the same examples:"
            yield f"    {'small batches':<22} loss {number(self.start)} → {number(self.small)}"
            for each in self.scalings:
                reached = number(each.loss) if math.isfinite(each.loss) else "diverged"
                mark = "  (best)" if each is self.best_rule else ""
                yield f"    {each.rule:<22} loss {number(self.start)} → {reached}{mark}"

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        sizes = np.geomspace(1, max(self.noise_scale * 100, self.batch_size * 10) if self.noise_scale > 0 else 1e4, 100)
        scale = self.noise_scale if self.noise_scale > 0 else math.inf
        ax.loglog(sizes, 1 + scale / sizes, label="steps needed, relative to an endless batch")
        ax.axvline(scale, color="#e5484d", linestyle="--", label=f"noise scale {number(scale)}")
        ax.axvline(self.batch_size, color="grey", linestyle=":", label=f"batch size now {self.batch_size}")
        ax.set(xlabel="batch size", ylabel="steps", title="What a larger batch would save")
        ax.legend(fontsize=8)


@experiment
def gradient_noise(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    batches: int = 32,
    factor: int = 4,
    steps: int = 25,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> GradientNoise:
    """Estimate the gradient noise scale at the present weights.

    Args:
        optimizer: With one, the scaling rules are tried as well.
        batches: How many gradients the estimate rests on.
        factor: How much larger the large batches are.
        steps: Steps with large batches; small ones take `factor` times as many.
    """
    if batches < 3 or factor < 2:
        raise BadOption(
            f"batches={batches}, factor={factor}.",
            expected="at least three batches and a factor of two",
            try_="lab.gradient_noise(model, loader, loss_fn, batches=32, factor=4)",
        )
    with session(model, loader, loss_fn, optimizer, forward=forward, loop=loop) as at:
        at.training.train_mode()
        rows = rows_in(at.training.batches[0])
        products = _products(at, batches, progress)
        scale, interval = noise_scale(products, rows)
        at.rewind()
        start, small, scalings = _scaled(at, factor, steps) if optimizer is not None else (math.nan, math.nan, ())
    return GradientNoise(scale, interval, rows, batches, factor, small, start, scalings)


def noise_scale(products: NDArray[np.float64], rows: int) -> tuple[float, tuple[float, float]]:
    """From the inner products of batch gradients to the noise scale and its 95 % interval.

    >>> products = np.full((8, 8), 1.0) + 4.0 * np.eye(8)  # a signal of length 1, noise of 4 for batches of 16
    >>> scale, _ = noise_scale(products, 16)
    >>> round(scale)
    64
    """
    whole = _estimate(products, rows)
    if not whole > 0:
        return math.nan, (math.nan, math.nan)
    number_of = len(products)
    logs = []
    for left_out in range(number_of):
        kept = np.delete(np.delete(products, left_out, 0), left_out, 1)
        one = _estimate(kept, rows)
        if not one > 0:
            return whole, (whole / 10, math.inf)  # without this batch there is no signal: only the order is known
        logs.append(math.log(one))
    error = math.sqrt((number_of - 1) / number_of * float(np.sum((np.asarray(logs) - np.mean(logs)) ** 2)))
    return whole, (whole * math.exp(-1.96 * error), whole * math.exp(1.96 * error))


def _estimate(products: NDArray[np.float64], rows: int) -> float:
    """Noise over signal, both unbiased: products of different batches estimate the squared mean gradient."""
    n = len(products)
    own = float(np.trace(products)) / n
    signal = (float(products.sum()) - n * own) / (n * (n - 1))
    return (own - signal) * rows / signal if signal > 0 else math.nan


def _products(at: Session, batches: int, progress: bool | None) -> NDArray[np.float64]:
    gradients = []
    for place in shown(range(batches), "gradients", show=progress):
        at.state.clear_gradients()
        at.training.batch_loss(at.training.batches[place]).backward()
        parts = [
            each.grad.detach().to_dense().flatten().float().cpu()
            for each in at.training.model.parameters()
            if each.grad is not None
        ]
        gradients.append(torch.cat(parts))
    stacked = torch.stack(gradients).double()
    products: NDArray[np.float64] = (stacked @ stacked.T).numpy()
    return products


def _scaled(at: Session, factor: int, steps: int) -> tuple[float, float, tuple[Scaling, ...]]:
    used = steps * factor * at.training.loop.accumulate
    held_out = [at.training.batches[used + place] for place in range(EVALUATION)]
    start = at.evaluated(held_out)
    small = _forked(at, 1, 1.0, steps * factor, held_out)
    rules = (("LR unchanged", 1.0), ("LR × √factor", math.sqrt(factor)), ("LR × factor (linear)", float(factor)))
    scalings = tuple(Scaling(rule, rate, _forked(at, factor, rate, steps, held_out)) for rule, rate in rules)
    return start, small, scalings


def _forked(at: Session, factor: int, rate: float, steps: int, held_out: list[Any]) -> float:
    at.rewind()
    at.training.train_mode()
    before = at.training.loop
    at.training.loop = replace(before, accumulate=before.accumulate * factor, scheduler=None)
    try:
        for group in at.training.needed_optimizer().param_groups:
            group["lr"] = group["lr"] * rate
        for step in range(steps):
            if not math.isfinite(at.training.step(step)):
                return math.inf
        return at.evaluated(held_out)
    finally:
        at.training.loop = before
