"""How much of a noisy sample is the noise that is asked for: their correlation, for each sample or for a few together.

Of a picture it is that over its own numbers. Of samples of a few numbers (points in the plane) the correlation of one
is luck, and those of neighbouring time steps are taken together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

COLUMNS = 1024  # of a sample, its first: noise is the same everywhere
TOGETHER = 256  # numbers of small samples that make one correlation: by luck it is 0.06
MIN_TIMES = 8  # different ones
NEAR = 0.1  # either side of the moments of a normal distribution; kurtosis has ten times the room


def side_by_side(batch: Tensor, noise: Tensor, times: Tensor | None) -> Tensor:
    """Moments of what is asked for; then, of each sample, its correlation with that, its size, and its time step."""
    given, wanted = (each.detach().reshape(len(each), -1)[:, :COLUMNS].double() for each in (batch, noise))
    neighbours = (wanted[:, 1:] * wanted[:, :-1]).mean()
    moments = torch.stack([wanted.mean(), wanted.square().mean(), wanted.pow(4).mean(), neighbours])
    apart, asked = (each - each.mean(1, keepdim=True) for each in (given, wanted))
    together = (apart * asked).sum(1) / (apart.norm(dim=1) * asked.norm(dim=1)).clamp(min=1e-30)
    steps = torch.full_like(together, torch.nan) if times is None else times.detach().to(together)
    return torch.cat([moments, together, given.square().mean(1).sqrt(), steps])


def in_groups(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same of small samples, one a row (given, asked for, time step), for groups of neighbouring time steps.

    >>> noise, times = np.random.default_rng(0).normal(size=(4096, 2)), np.arange(4096) % 100
    >>> moments, table = in_groups(np.column_stack([np.sqrt(times / 100)[:, None] * noise, noise, times]))
    >>> bool(is_noise(*moments)), table.shape
    (True, (3, 32))
    """
    points = points[np.argsort(points[:, -1], kind="stable")]
    width = (points.shape[1] - 1) // 2
    given, wanted, times = points[:, :width], points[:, width:-1], points[:, -1]
    neighbours = (wanted[:, 1:] * wanted[:, :-1]).mean()
    moments = np.array([wanted.mean(), (wanted**2).mean(), (wanted**4).mean(), neighbours])
    table = []
    for rows in np.array_split(np.arange(len(points)), max(1, len(points) * width // TOGETHER)):
        apart, asked = (each[rows] - each[rows].mean(0) for each in (given, wanted))
        share = (apart * asked).sum() / max(float(np.sqrt((apart**2).sum() * (asked**2).sum())), 1e-30)
        table.append([share, np.sqrt((given[rows] ** 2).mean()), times[rows].mean()])
    return moments, np.array(table).T


def is_noise(mean: float, square: float, fourth: float, neighbours: float) -> bool:
    """Whether these are the moments of independent draws from a normal distribution.

    >>> is_noise(0.01, 0.99, 2.9, 0.02), is_noise(0.01, 0.99, 1.8, 0.6)
    (True, False)
    """
    plain = abs(mean) < NEAR and abs(square - 1) < NEAR and abs(neighbours) < NEAR
    return plain and abs(fourth - 3) < 10 * NEAR


def noise_shown(table: np.ndarray) -> dict[str, Any]:
    """What the samples show together: the least and the most noise, the size of the cleanest, and whether noise goes
    with the time step (the correlation of their ranks; of steps that are all alike nothing is known)."""
    share, size, steps = table
    cleanest = size[np.abs(share) <= np.quantile(np.abs(share), 0.25)]
    facts: dict[str, Any] = {
        "mean": float(share.mean()),
        "least": float(np.quantile(share, 0.02)),
        "most": float(np.quantile(share, 0.98)),
        "cleanest_size": float(np.median(cleanest)),
    }
    if np.isfinite(steps).all() and len(np.unique(steps)) >= MIN_TIMES:
        ranks = [np.argsort(np.argsort(each, kind="stable")) for each in (share, steps)]
        facts["by_time"] = float(np.atleast_2d(np.corrcoef(np.stack(ranks)))[0, 1])
    return facts
