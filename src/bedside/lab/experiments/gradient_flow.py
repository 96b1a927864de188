"""Each layer's gradient norm over training, on a logarithmic axis: which layers starve, explode or die, and when.

From a recorded run, or measured now: the model is trained for some steps, the norms are noted before clipping, and
everything is put back.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn
from torch.optim import Optimizer

from bedside.errors import NotARun
from bedside.lab.experiment_result import Result
from bedside.lab.experiments.gradient_summary import GradientSummary, summarised
from bedside.lab.gradient_norms import gradient_norms
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import session
from bedside.lab.source import run_of
from bedside.training.forward import Forward, LossFunction
from bedside.training.step import Loop
from bedside.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_CURVES = 8  # in one picture: nobody can distinguish more
MAX_POINTS = 400  # of a recorded curve: as many as a picture has columns


@dataclass(frozen=True)
class GradientFlow(Result):
    """One curve for each layer, in model order."""

    experiment = "gradient_flow"
    steps: tuple[int, ...]
    curves: dict[str, tuple[float, ...]]
    source: str

    @property
    def summary(self) -> GradientSummary:
        """The table of the last quarter."""
        quarter = max(1, len(self.steps) // 4)
        norms = {name: float(np.nanmedian(values[-quarter:])) for name, values in self.curves.items()}
        return summarised(norms, set(norms), "the last quarter")

    def lines(self) -> Iterator[str]:
        yield f"{len(self.curves)} layers over steps {self.steps[0]} to {self.steps[-1]}, from {self.source}."
        width = max(len(name) for name in self.curves)
        tenth = max(1, len(self.steps) // 10)
        for name, values in self.curves.items():
            begin, end = np.nanmedian(values[:tenth]), np.nanmedian(values[-tenth:])
            change = f"× {number(end / begin)}" if begin > 0 and math.isfinite(end) else ""
            yield f"  {name:<{width}}  {number(begin):>9} → {number(end):<9} {change}"
        yield f"  {self.summary.verdict} at the end: first over last layer {number(self.summary.ratio)}"

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        names = list(self.curves)
        if len(names) > MAX_CURVES:  # evenly through the depth, with both ends
            names = [names[round(place * (len(names) - 1) / (MAX_CURVES - 1))] for place in range(MAX_CURVES)]
        for place, name in enumerate(names):
            shade = place / max(1, len(names) - 1)
            values = [value if value > 0 else math.nan for value in self.curves[name]]
            ax.plot(self.steps, values, label=name, color=(0.9 * (1 - shade), 0.35, 0.25 + 0.6 * shade), linewidth=1.2)
        ax.set_yscale("log")
        ax.set(xlabel="step", ylabel="gradient norm", title="Gradient norm by layer, red at the input")
        ax.legend(fontsize=7)


@experiment
def gradient_flow(
    model: Any,
    loader: Iterable[Any] | None = None,
    loss_fn: LossFunction | None = None,
    optimizer: Optimizer | None = None,
    *,
    steps: int = 100,
    forward: Forward | None = None,
    loop: Loop | None = None,
    progress: bool | None = None,
) -> GradientFlow:
    """Per-layer gradient norms over training.

    Args:
        model: A Monitor, a Run or the path of one, which are read; or a model, which is trained for `steps` steps with
            the loader, loss and optimizer given, and put back.
    """
    if not isinstance(model, nn.Module):
        return _recorded(model)
    curves: dict[str, list[float]] = {}
    with session(model, loader if loader is not None else [], loss_fn, optimizer, forward=forward, loop=loop) as at:
        at.training.train_mode()

        def note() -> None:
            for name, norm in gradient_norms(model).items():
                curves.setdefault(name, []).append(norm)

        at.training.before_update = note
        taken = 0
        for step in shown(range(steps), "training", show=progress):
            loss = at.training.step(step)
            taken += 1
            if not math.isfinite(loss):
                break
    return GradientFlow(
        tuple(range(taken)), {name: tuple(each) for name, each in curves.items()}, f"{taken} steps taken now"
    )


def _recorded(source: Any) -> GradientFlow:
    run = run_of(source)
    series = run.of("grad_norm")
    leaves = [each for each in series if len(each) and not any(o.owner.startswith(f"{each.owner}.") for o in series)]
    if not leaves:
        raise NotARun(
            f"{run.name} has no gradient norms per layer.",
            expected="a run that bedside.watch recorded, or a log with grad_norm/<layer>",
            try_="bedside.watch(model, optimizer)",
        )
    steps = np.unique(np.concatenate([each.steps for each in leaves]))
    steps = steps[:: max(1, len(steps) // MAX_POINTS)]
    curves = {each.owner: tuple(_at(each.steps, each.values, steps)) for each in leaves}
    return GradientFlow(tuple(map(int, steps)), curves, run.name)


def _at(have: Any, values: Any, wanted: Any) -> list[float]:
    """The series at the wanted steps: the last reading before each."""
    places = np.searchsorted(have, wanted, side="right") - 1
    return [float(values[place]) if place >= 0 else math.nan for place in places]
