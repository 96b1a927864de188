"""Can the model memorise one batch? If not, what is broken: the rate, the graph, the loss or the capacity.

A sound model drives the loss of a few fixed examples to its floor. One that cannot will not learn the whole data set
either, and the way it fails says why. In this order:

1. parameters that the loss does not depend on: the graph is disconnected;
2. another learning rate succeeds: it was the rate;
3. the outputs themselves, trained as free numbers under the same loss, cannot reach a low loss: the loss is the bug;
4. gradients that are exactly zero: dead units let nothing through;
5. none of these, free outputs can and the model cannot: it lacks capacity, or a layer cuts its outputs off.

Dropout is switched off, the optimizer is a fresh Adam without weight decay, and the loss at the end is measured in
evaluation mode on exactly the rows that were trained on.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from bedside.lab.experiment_result import Result
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import Session, session
from bedside.training.batches import rows_in, take_rows
from bedside.training.forward import Forward, LossFunction
from bedside.training.modes import without_dropout
from bedside.training.step import Training
from bedside.wording import listed, number, percent, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Limits:
    """What counts as memorised."""

    left: float = 0.05  # of the way from the first loss to the floor: what is left when a batch is memorised
    cut_off: float = 0.02  # of the parameters: more than this without a gradient and the graph is in doubt
    dead: float = 0.5  # of the parameters with a gradient of exactly zero: more than a ReLU net has when it is well
    floor_high: float = 0.3  # of the first loss: free outputs that stay above it show a loss with a floor


@dataclass(frozen=True)
class Overfit(Result):
    """Whether one batch could be memorised, and the likely reason if not."""

    experiment = "overfit_batch"
    memorised: bool
    verdict: str  # memorised, learning rate, disconnected graph, loss, dead units, capacity, not finite
    reason: str
    rows: tuple[int, ...]  # of the first batch
    first_loss: float
    final_loss: float  # on the same rows, in evaluation mode
    floor: float  # the lowest loss that free outputs reach; NaN where the model computes its own loss
    accuracy: float  # on the same rows; NaN where there are no classes
    learning_rate: float
    histories: dict[float, list[float]]  # loss per step, per learning rate tried
    without_gradient: tuple[str, ...]

    def __bool__(self) -> bool:
        return self.memorised

    def lines(self) -> Iterator[str]:
        yield f"{'Passed' if self.memorised else 'Failed'}: {self.reason}"
        steps = len(self.histories.get(self.learning_rate, ()))
        accuracy = "" if math.isnan(self.accuracy) else f", accuracy {percent(self.accuracy)}"
        rows = f"rows {self.rows[0]}-{self.rows[-1]}" if len(self.rows) > 1 else f"row {self.rows[0]}"
        yield (
            f"  {rows} of the first batch: loss {number(self.first_loss)} → {number(self.final_loss)}{accuracy} "
            f"after {plural(steps, 'step')} of Adam at {number(self.learning_rate)}"
        )
        if not math.isnan(self.floor):
            yield f"  lowest loss that free outputs reach: {number(self.floor)}"
        if self.without_gradient:
            yield f"  without a gradient: {listed(self.without_gradient)}"

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        for rate, losses in self.histories.items():
            ax.plot(losses, label=f"Adam at {number(rate)}")
        if math.isfinite(self.floor):
            ax.axhline(self.floor, color="grey", linestyle=":", label="floor of the loss")
        low = min([value for each in self.histories.values() for value in each if value > 0], default=0)
        if low > 0:
            ax.set_yscale("log")
        ax.set(xlabel="step", ylabel="loss", title=f"One batch: {self.verdict}")
        ax.legend()


@experiment
def overfit_batch(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    *,
    rows: int | Sequence[int] = 32,
    steps: int = 300,
    rates: Sequence[float] = (1e-3, 1e-2, 1e-4),
    forward: Forward | None = None,
    progress: bool | None = None,
) -> Overfit:
    """Train on some rows of the loader's first batch alone until they are known by heart.

    Args:
        rows: How many of the first rows, or which ones.
        steps: At most so many for each learning rate.
        rates: Learning rates of Adam, tried in this order until one succeeds.
    """
    limits = Limits()
    with session(model, loader, loss_fn, forward=forward) as at:
        whole = at.training.loss.placed(at.training.batches[0])
        chosen = list(range(min(rows, rows_in(whole)))) if isinstance(rows, int) else list(rows)
        batch = take_rows(whole, chosen)
        without_dropout(model)
        first, starved, cut, dead = _gradients(at.training, batch)
        at.rewind()
        without_dropout(model)
        floor = _floor(at.training, batch, steps)
        histories: dict[float, list[float]] = {}
        ends: dict[float, tuple[float, float]] = {}  # loss and accuracy
        for rate in () if cut >= 1.0 else rates:
            at.rewind()
            histories[rate] = list(
                shown(_trained(at, batch, rate, steps), f"Adam {rate:g}", total=steps, show=progress)
            )
            ends[rate] = _measured(at.training, batch)
            if _is_memorised(first, ends[rate][0], floor, limits):
                break
    rate = min(ends, key=lambda each: (math.isnan(ends[each][0]), ends[each][0]), default=rates[0])
    final, accuracy = ends.get(rate, (first, math.nan))
    memorised = _is_memorised(first, final, floor, limits)
    verdict = (
        "memorised" if memorised and rate == rates[0] else _verdict(memorised, first, final, floor, cut, dead, limits)
    )
    reason = _reason(verdict, rate, rates[0], final, floor, cut, dead, len(chosen))
    return Overfit(
        memorised, verdict, reason, tuple(chosen), first, final, floor, accuracy, rate, histories, tuple(starved)
    )


def _verdict(memorised: bool, first: float, final: float, floor: float, cut: float, dead: float, limits: Limits) -> str:
    if cut >= 1.0:
        return "disconnected graph"
    if not math.isfinite(final) or not math.isfinite(first):
        return "not finite"
    if memorised:
        return "learning rate"
    if floor > limits.floor_high * abs(first):
        return "loss"
    if cut > limits.cut_off:
        return "disconnected graph"
    return "dead units" if dead > limits.dead else "capacity"


def _reason(
    verdict: str, rate: float, usual: float, final: float, floor: float, cut: float, dead: float, rows: int
) -> str:
    return {
        "memorised": f"the model memorises {rows} examples: model, loss and gradients fit together.",
        "learning rate": f"the batch is memorised at {number(rate)}, but not at {number(usual)}: the learning rate.",
        "disconnected graph": f"{percent(cut)} of the parameters get no gradient: the graph is disconnected. Look for "
        ".detach(), .item(), torch.no_grad() or requires_grad=False on the way to the loss.",
        "not finite": f"the loss became {number(final)}: find the operation with lab.nan_hunt.",
        "loss": f"even free outputs stay at a loss of {number(floor)}: the loss or the targets are wrong (a softmax "
        "before a loss that takes its own, targets out of range, a wrong reduction).",
        "dead units": f"the gradient of {percent(dead)} of the parameters is exactly zero: dead units let nothing "
        "through. See lab.dead_units.",
        "capacity": f"free outputs reach {number(floor)} but the model stays at {number(final)}: too little capacity, "
        "a bad initialisation, or outputs that cannot reach the targets (an activation on the last layer).",
    }[verdict]


def _is_memorised(first: float, final: float, floor: float, limits: Limits) -> bool:
    if not (math.isfinite(first) and math.isfinite(final)):
        return False
    lowest = min(floor, final) if math.isfinite(floor) else min(0.0, final)
    if math.isfinite(floor) and floor > limits.floor_high * abs(first):
        return False  # what cannot be low for any output is not memorised by this one
    return final - lowest <= limits.left * max(first - lowest, 1e-12)


def _gradients(training: Training, batch: Any) -> tuple[float, list[str], float, float]:
    """The first loss, the parameters without a gradient, and two shares: those cut off, and those with exactly zero."""
    loss = training.loss(batch)
    named = [(name, each) for name, each in training.model.named_parameters() if each.requires_grad]
    if not loss.requires_grad or not named:
        return float(loss.detach()), [name for name, _ in training.model.named_parameters()], 1.0, 0.0
    found = torch.autograd.grad(loss, [each for _, each in named], allow_unused=True)
    pairs = [(name, each, gradient) for (name, each), gradient in zip(named, found, strict=True)]
    starved = [name for name, _, gradient in pairs if gradient is None or not gradient.any()]
    total = sum(each.numel() for each in training.model.parameters())
    cut = sum(each.numel() for _, each, gradient in pairs if gradient is None) / total
    dead = sum(int((gradient == 0).sum()) for _, _, gradient in pairs if gradient is not None) / total
    return float(loss.detach()), starved, cut, dead


def _floor(training: Training, batch: Any, steps: int) -> float:
    """The lowest loss that outputs of this shape can have: they are trained themselves, without the model."""
    if training.loss.loss_fn is None:
        return math.nan
    with torch.no_grad():
        output = training.loss.output(batch)
    if not isinstance(output, Tensor) or not output.is_floating_point():
        return math.nan
    free = output.detach().clone().requires_grad_(True)
    optimizer = torch.optim.Adam([free], lr=0.3)
    lowest = math.inf
    for _ in range(steps):
        loss = training.loss.loss_of(free, batch)
        if not loss.requires_grad or not torch.isfinite(loss):
            break
        lowest = min(lowest, float(loss.detach()))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return lowest if math.isfinite(lowest) else math.nan


def _trained(at: Session, batch: Any, rate: float, steps: int) -> Iterator[float]:
    training = at.training
    without_dropout(training.model)
    optimizer = torch.optim.Adam([each for each in training.model.parameters() if each.requires_grad], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = training.loss(batch)
        yield float(loss.detach())
        if not torch.isfinite(loss) or not loss.requires_grad:
            return
        loss.backward()
        optimizer.step()


def _measured(training: Training, batch: Any) -> tuple[float, float]:
    """Loss and accuracy on the rows that were trained on, as an evaluation would see them."""
    model = training.model
    modes = [(module, module.training) for module in model.modules()]
    for module in model.modules():  # BatchNorm's running averages lag behind so short a training
        module.training = isinstance(module, nn.modules.batchnorm._BatchNorm)
    try:
        with torch.no_grad():
            output = training.loss.output(batch)
            loss = float(training.loss.loss_of(output, batch))
        target = training.loss.target(batch)
        classes = isinstance(output, Tensor) and isinstance(target, Tensor) and not target.is_floating_point()
        if not classes or output.ndim < 2 or output.shape[:1] != target.shape[:1]:
            return loss, math.nan
        dim = 1 if output.ndim == target.ndim + 1 and output.shape[2:] == target.shape[1:] else -1
        answers = output.argmax(dim)
        return loss, float((answers == target).float().mean()) if answers.shape == target.shape else math.nan
    finally:
        for module, mode in modes:
            module.training = mode
