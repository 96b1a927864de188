"""The loss along random directions through the present weights: a curve, or a surface over two of them.

Directions are filter-normalised (Li et al., 2018): each filter of a direction has the norm of the weight's filter, so
that networks of different scales can be compared; biases and norm layers stay where they are. All losses are measured
on one fixed set of batches in evaluation mode.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from bedside.errors import BadOption
from bedside.lab.experiment_result import Result
from bedside.lab.fixed_loss import FixedLoss
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import session
from bedside.training.forward import Forward, LossFunction
from bedside.wording import number, plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Landscape(Result):
    """Losses at `at` times the direction; for two directions, one row for each step along the second."""

    experiment = "landscape"
    at: tuple[float, ...]
    losses: tuple[tuple[float, ...], ...]
    loss: float  # at the present weights

    @property
    def dimensions(self) -> int:
        return 1 if len(self.losses) == 1 else 2

    def lines(self) -> Iterator[str]:
        grid = np.asarray(self.losses, dtype=float)
        lowest = np.unravel_index(np.nanargmin(grid), grid.shape)
        where = ", ".join(number(self.at[index]) for index in reversed(lowest[-self.dimensions :]))
        yield (
            f"Loss {number(self.loss)} at the weights; {number(float(np.nanmin(grid)))} to "
            f"{number(float(np.nanmax(grid)))} within ±{number(self.at[-1])} along "
            f"{plural(self.dimensions, 'random direction')}."
        )
        at_the_weights = all(self.at[index] == 0 for index in lowest[-self.dimensions :])
        yield "  The lowest point is at the weights." if at_the_weights else f"  The lowest point is at ({where})."

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        if self.dimensions == 1:
            ax.plot(self.at, self.losses[0], marker=".")
            ax.axvline(0, color="grey", linewidth=0.8)
            ax.set(
                xlabel="along the direction (1 = as long as the weights)",
                ylabel="loss",
                title="The loss around the weights",
            )
            return
        finite = np.nan_to_num(np.asarray(self.losses), posinf=np.nan)
        drawn = ax.contourf(self.at, self.at, finite, levels=20, cmap="viridis")
        ax.plot(0, 0, marker="x", color="white")
        ax.figure.colorbar(drawn, ax=ax, label="loss")
        ax.set(xlabel="first direction", ylabel="second direction", title="The loss around the weights")


@experiment
def landscape(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    *,
    dimensions: int = 1,
    reach: float = 1.0,
    points: int = 21,
    batches: int = 4,
    forward: Forward | None = None,
    progress: bool | None = None,
) -> Landscape:
    """Evaluate the loss at `points` places (or `points`² in two dimensions) around the present weights.

    Args:
        dimensions: 1 or 2.
        reach: How far to go, as a multiple of the weights' own norm.
        points: Per direction; an odd number includes the weights themselves.
    """
    if dimensions not in (1, 2) or points < 3:
        raise BadOption(
            f"dimensions={dimensions}, points={points}.",
            expected="one or two dimensions and at least three points",
            try_="lab.landscape(model, loader, loss_fn, dimensions=2, points=15)",
        )
    with session(model, loader, loss_fn, forward=forward) as at:
        fixed = FixedLoss(at.training, batches)
        axes = [_direction(fixed.origin) for _ in range(dimensions)]
        places = [float(each) for each in np.round(np.linspace(-reach, reach, points), 12)]
        second = places if dimensions == 2 else [0.0]
        cells = [(y, x) for y in second for x in places]
        losses = [fixed.at(_offset(axes, (x, y))) for y, x in shown(cells, "evaluating", show=progress)]
        base = fixed()
    rows = tuple(tuple(losses[row * points : (row + 1) * points]) for row in range(len(second)))
    return Landscape(tuple(places), rows, base)


def _direction(origin: list[Tensor]) -> list[Tensor]:
    direction = []
    for weight in origin:
        if weight.ndim < 2:
            direction.append(torch.zeros_like(weight))
            continue
        random = torch.randn_like(weight)
        kept = tuple(range(1, weight.ndim))  # a filter is everything that makes one output
        norms = torch.linalg.vector_norm(weight, dim=kept, keepdim=True)
        direction.append(random * norms / (torch.linalg.vector_norm(random, dim=kept, keepdim=True) + 1e-12))
    return direction


def _offset(axes: list[list[Tensor]], at: tuple[float, float]) -> list[Tensor]:
    along = [[each * where for each in axis] for axis, where in zip(axes, at, strict=False)]
    return along[0] if len(along) == 1 else [a + b for a, b in zip(*along, strict=True)]
