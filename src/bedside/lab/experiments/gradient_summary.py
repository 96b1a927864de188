"""Each layer's gradient norm, its share of the whole and its status, and how the first layer compares with the last.

The ratio of first to last layer is what says whether the signal arrives: within a hundredfold is healthy, below a
thousandth the early layers hardly learn. Absolute norms mean little (healthy runs have norms from 1e-4 to 1e5), so a
layer is judged against the median of the others and the last.
"""

from __future__ import annotations

import math
import statistics as plain_statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import nn

from bedside.errors import BadModel, NotARun
from bedside.lab.experiment_result import Result
from bedside.lab.gradient_norms import gradient_norms, shares, weight_layers
from bedside.lab.recording import experiment
from bedside.lab.session import session
from bedside.lab.source import run_of
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop
from bedside.wording import number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bedside.record.run import Run


@dataclass(frozen=True)
class Limits:
    """The healthy band around the median layer."""

    healthy: float = 100.0  # published guidance: layers within 10 to 100 times of each other
    vanishing: float = 1e-3  # published guidance: a thousandth and less is vanishing
    exploding: float = 1e3  # the same on the other side


@dataclass(frozen=True)
class LayerGradient:
    """One layer's row of the table."""

    name: str
    norm: float
    share: float  # of the squared norm of all
    status: str  # ok, no gradient, vanishing, exploding, not finite


@dataclass(frozen=True)
class GradientSummary(Result):
    """The table, in model order, with the ratio of the first to the last layer."""

    experiment = "gradient_summary"
    layers: tuple[LayerGradient, ...]
    first: str
    last: str
    ratio: float  # norm of the first layer over that of the last
    source: str

    @property
    def healthy(self) -> bool:
        return all(layer.status == "ok" for layer in self.layers) and self.verdict == "healthy"

    @property
    def verdict(self) -> str:
        limits = Limits()
        if not math.isfinite(self.ratio):
            return "not finite" if math.isnan(self.ratio) else "the last layer gets no gradient"
        if self.ratio < limits.vanishing:
            return "vanishing"
        if self.ratio > limits.exploding:
            return "exploding towards the input"
        return "healthy" if 1 / limits.healthy <= self.ratio <= limits.healthy else "uneven"

    @property
    def total(self) -> float:
        return math.sqrt(sum(layer.norm**2 for layer in self.layers))

    def lines(self) -> Iterator[str]:
        yield (
            f"{self.verdict.capitalize()}: the first layer ({self.first}) gets {number(self.ratio)} of the gradient of "
            f"the last ({self.last}); healthy is {number(1 / Limits.healthy)} to {number(Limits.healthy)}."
        )
        width = max(5, *(len(layer.name) for layer in self.layers))
        yield f"  {'layer':<{width}}  {'norm':>9}  {'share':>6}  status"
        for layer in self.layers:
            yield f"  {layer.name:<{width}}  {number(layer.norm):>9}  {percent(layer.share):>6}  {layer.status}"
        yield f"  {'all':<{width}}  {number(self.total):>9}          from {self.source}"

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        colours = {"ok": "#30a46c", "no gradient": "#6b7280"}
        names = [layer.name for layer in self.layers]
        norms = [max(layer.norm, 1e-12) if math.isfinite(layer.norm) else 1e-12 for layer in self.layers]
        ax.bar(range(len(names)), norms, color=[colours.get(layer.status, "#e5484d") for layer in self.layers])
        middle = _median([layer.norm for layer in self.layers])
        if middle > 0:
            ax.axhspan(
                middle / Limits.healthy, middle * Limits.healthy, color="#30a46c", alpha=0.12, label="healthy band"
            )
            ax.legend()
        ax.set_yscale("log")
        ax.set_xticks(range(len(names)), names, rotation=45, ha="right", fontsize=8)
        ax.set(ylabel="gradient norm", title=f"Gradient by layer: {self.verdict}")


@experiment
def gradient_summary(
    model: Any,
    loader: Iterable[Any] | None = None,
    loss_fn: LossFunction | None = None,
    *,
    batches: int = 1,
    last: int = 50,
    forward: Forward | None = None,
    loop: Loop | None = None,
) -> GradientSummary:
    """The per-layer table, of a live model or of a recorded run.

    Args:
        model: A model, a Monitor, a Run, or the path of a run. A model without a loader is read as it is, after
            `loss.backward()` and before the optimizer's step.
        loader: With it, gradients are computed on its first `batches` batches and put back.
        last: Of a recorded run, the median over this many last records.
    """
    if isinstance(model, nn.Module):
        norms = gradient_norms(model) if loader is None else _computed(model, loader, loss_fn, batches, forward, loop)
        if loader is None and all(each.grad is None for each in model.parameters()):
            raise BadModel(
                f"{type(model).__name__} has no gradients now.",
                expected="a call between loss.backward() and optimizer.zero_grad(), or a loader to compute them on",
                try_="lab.gradient_summary(model, loader, loss_fn)",
            )
        return summarised(
            norms,
            weight_layers(model),
            "the gradients that were there" if loader is None else f"the first {batches} of the loader",
        )
    run = run_of(model)
    norms = recorded_norms(run, last)
    return summarised(norms, set(norms), f"the last {last} records of {run.name}")


def summarised(norms: Mapping[str, float], compared: set[str], source: str) -> GradientSummary:
    """The table from plain numbers; first and last are of the `compared` layers."""
    between = [name for name in norms if name in compared] or list(norms)
    first, last = between[0], between[-1]
    middle = _median([norms[name] for name in between])
    parts = shares(norms)
    layers = tuple(LayerGradient(n, norm, parts[n], _status(norm, middle, norms[last])) for n, norm in norms.items())
    ratio = norms[first] / norms[last] if norms[last] else (math.nan if not norms[first] else math.inf)
    return GradientSummary(layers, first, last, ratio, source)


def recorded_norms(run: Run, last: int) -> dict[str, float]:
    """The median gradient norm of each layer at the end of a recorded run."""
    series = run.of("grad_norm")
    leaves = [each for each in series if not any(other.owner.startswith(f"{each.owner}.") for other in series)]
    norms = {each.owner: _median(list(each.values[-last:])) for each in leaves if len(each)}
    if not norms:
        raise NotARun(
            f"{run.name} has no gradient norms per layer.",
            expected="a run that bedside.watch recorded, or a log with grad_norm/<layer>",
            try_="bedside.watch(model, optimizer)",
        )
    return norms


def _computed(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None,
    batches: int,
    forward: Forward | None,
    loop: Loop | None,
) -> dict[str, float]:
    with session(model, loader, loss_fn, forward=forward, loop=loop) as at:
        at.training.train_mode()
        chosen = at.training.batches.first(batches)
        for batch in chosen:
            (at.training.batch_loss(batch) / len(chosen)).backward()
        return gradient_norms(model)


def _status(norm: float, middle: float, last: float) -> str:
    limits = Limits()
    if not math.isfinite(norm):
        return "not finite"
    if norm == 0:
        return "no gradient"
    if norm < limits.vanishing * max(middle, last):
        return "vanishing"
    return "exploding" if norm > limits.exploding * middle else "ok"


def _median(values: list[float]) -> float:
    finite = [float(value) for value in values if math.isfinite(value)]
    return plain_statistics.median(finite) if finite else math.nan
