"""How sharp the minimum is that the weights lie in, by three measures on one fixed set of batches.

* Random: noise of `epsilon` times each parameter's own norm, many times; by how much the loss rises, with its spread.
* Worst case: one step of the same size uphill along the gradient, as sharpness-aware minimisation (SAM) takes it.
* Curvature: the largest eigenvalues of the Hessian, by Lanczos iterations (scipy's `eigsh`) over exact
  Hessian-vector products. Gradient descent is stable while the largest is below 2 / learning rate.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from bedside.errors import BadOption, install_extra
from bedside.lab.experiment_result import Result
from bedside.lab.fixed_loss import FixedLoss
from bedside.lab.progress_bar import progress as shown
from bedside.lab.recording import experiment
from bedside.lab.session import session
from bedside.training.forward import Forward, LossFunction
from bedside.wording import listed, number, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Limits:
    """When to call a minimum sharp."""

    rise: float = 0.1  # of the loss, at random noise of a twentieth of the weights' norm: published guidance


@dataclass(frozen=True)
class Sharpness(Result):
    """The loss at the present weights and around them."""

    experiment = "sharpness"
    loss: float
    epsilon: float
    perturbed: tuple[float, ...]  # the loss at each random perturbation
    worst: float  # the loss one step of the same size uphill
    eigenvalues: tuple[float, ...]  # of the Hessian, largest first

    @property
    def mean(self) -> float:
        return float(np.mean(self.perturbed))

    @property
    def ratio(self) -> float:
        """Mean rise of the loss under random noise, relative to the loss."""
        return (self.mean - self.loss) / (abs(self.loss) + 1e-8)

    @property
    def spread(self) -> float:
        """Standard deviation of that rise over the perturbations."""
        return float(np.std(self.perturbed)) / (abs(self.loss) + 1e-8)

    @property
    def sharp(self) -> bool:
        return self.ratio > Limits.rise

    def lines(self) -> Iterator[str]:
        yield (
            f"{'Sharp' if self.sharp else 'Flat'}: noise of {percent(self.epsilon)} of the weights changes the loss "
            f"{number(self.loss)} by {number(100 * self.ratio)} % (± {number(100 * self.spread)} % over "
            f"{len(self.perturbed)} perturbations)."
        )
        yield f"  one step of the same size uphill: {number(self.loss)} → {number(self.worst)}"
        if self.eigenvalues:
            top = self.eigenvalues[0]
            yield f"  largest curvatures (Hessian eigenvalues): {listed([number(each) for each in self.eigenvalues])}"
            if top > 0:
                yield f"  gradient descent is stable up to a learning rate of 2 / {number(top)} = {number(2 / top)}"

    def draw(self, *axes: Axes) -> None:
        (ax,) = axes
        ax.hist(self.perturbed, bins=12, color="#3b82f6", label="random perturbations")
        ax.axvline(self.loss, color="black", label="unperturbed")
        ax.axvline(self.worst, color="#e5484d", linestyle="--", label="uphill (SAM)")
        ax.set(
            xlabel="loss",
            ylabel="perturbations",
            title=f"{'Sharp' if self.sharp else 'Flat'}: ratio {number(self.ratio)}",
        )
        ax.legend()


@experiment
def sharpness(
    model: nn.Module,
    loader: Iterable[Any],
    loss_fn: LossFunction | None = None,
    *,
    epsilon: float = 0.05,
    perturbations: int = 20,
    eigenvalues: int = 3,
    batches: int = 4,
    forward: Forward | None = None,
    progress: bool | None = None,
) -> Sharpness:
    """Measure the loss around the present weights.

    Args:
        epsilon: Size of the perturbations relative to each parameter's norm.
        eigenvalues: How many of the Hessian's largest; 0 leaves them out (they cost some fifty gradients).
        batches: The fixed set on which every loss is measured.
    """
    if epsilon <= 0 or perturbations < 2:
        raise BadOption(
            f"epsilon={epsilon}, perturbations={perturbations}.",
            expected="a positive epsilon and at least two perturbations",
            try_="lab.sharpness(model, loader, loss_fn, epsilon=0.05, perturbations=20)",
        )
    with session(model, loader, loss_fn, forward=forward) as at:
        at.training.model.eval()
        fixed = FixedLoss(at.training, batches)
        base = fixed()
        losses = tuple(
            fixed.at(_noise(fixed, epsilon)) for _ in shown(range(perturbations), "perturbing", show=progress)
        )
        uphill = fixed.at(_uphill(fixed, epsilon))
        largest = tuple(_eigenvalues(fixed, eigenvalues)) if eigenvalues else ()
    return Sharpness(base, epsilon, losses, uphill, largest)


def _noise(fixed: FixedLoss, epsilon: float) -> list[Tensor]:
    offsets = []
    for start in fixed.origin:
        noise = torch.randn_like(start)
        offsets.append(noise * (epsilon * _norm(start) / (_norm(noise) + 1e-12)))
    return offsets


def _uphill(fixed: FixedLoss, epsilon: float) -> list[Tensor]:
    """Along the gradient, as far as the random noise goes in all."""
    gradient = fixed.gradient()
    length = epsilon * math.sqrt(sum(_norm(start) ** 2 for start in fixed.origin))
    size = math.sqrt(sum(_norm(each) ** 2 for each in gradient))
    return [each * (length / (size + 1e-12)) for each in gradient]


def _norm(tensor: Tensor) -> float:
    return float(torch.linalg.vector_norm(tensor, dtype=torch.float32))


def _eigenvalues(fixed: FixedLoss, how_many: int) -> list[float]:
    try:
        from scipy.sparse.linalg import LinearOperator, eigsh
    except ImportError:
        raise BadOption(
            "scipy is not installed, which finds the Hessian's eigenvalues.",
            expected="scipy, or eigenvalues=0",
            try_=install_extra("lab"),
        ) from None
    size = sum(each.numel() for each in fixed.parameters)

    def times(flat: Any) -> Any:
        vector = torch.as_tensor(np.asarray(flat).reshape(-1), dtype=torch.float64)
        parts = [
            part.view_as(each).to(each)
            for part, each in zip(
                vector.split([each.numel() for each in fixed.parameters]), fixed.parameters, strict=True
            )
        ]
        return torch.cat([each.flatten().double() for each in fixed.hessian_times(parts)]).cpu().numpy()

    if size <= 2 * how_many + 2:  # too small for Lanczos: the whole Hessian is a few rows
        whole = np.stack([times(row) for row in np.eye(size)])
        return sorted(np.linalg.eigvalsh((whole + whole.T) / 2).tolist(), reverse=True)[:how_many]
    start = np.random.default_rng(0).standard_normal(size)  # a fixed start: the same answer every time
    operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
    found = eigsh(operator, k=how_many, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)
    return sorted(map(float, found), reverse=True)
