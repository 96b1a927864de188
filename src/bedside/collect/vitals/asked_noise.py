"""Denoising models: is the target the noise that was added to the input, and does its amount match the time step?

A diffusion model is given a noisy sample and a time step, and asked for the noise. How much of a sample is noise shows
in the correlation between the two: next to nothing at the first time step, all at the last, and it goes with the time
step. Read from the first batches whose targets are plainly noise: drawn from a normal distribution of mean zero and
spread one, each number by itself.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.collect.collector import Collector, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.reading.nested_tensors import tensors_in
from bedside.collect.vitals.inputs import first_input
from bedside.record.run import Event
from bedside.training.freed_tensors import is_freed

LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
MIN_COLUMNS = 16  # of a sample: the correlation of fewer is luck
COLUMNS = 1024  # of a sample, its first: noise is the same everywhere
ROWS = 64  # of a batch
SAMPLES = 256  # looked at, together: time steps from all over the schedule
MAX_LOOKS = 64  # batches: of a few samples each
MIN_TIMES = 8  # different ones
NEAR = 0.1  # either side of the moments of a normal distribution; kurtosis has ten times the room


class AskedNoise(Collector):
    """Correlates each noisy sample with the noise the model is asked for."""

    name = "asked noise"

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._looks = 0
        self._forward: Forward | None = None
        self._waiting: list[tuple[PendingValue, int]] = []
        self._seen: list[np.ndarray] = []  # correlation, size and time step of each sample
        self._columns = 0  # of a sample, that were compared
        self._done = False

    def attach(self, step: int) -> None:
        self._due = not self._done and self._looks < MAX_LOOKS

    def forward_begins(self, forward: Forward) -> None:
        if self._due and forward.grad and not forward.validating:
            self._forward = forward

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        forward, self._forward = self._forward, None
        if forward is None or function not in LOSSES or not isinstance(prediction, Tensor):
            return
        if not isinstance(target, Tensor) or target.requires_grad or not prediction.requires_grad:
            return
        batch = first_input((forward.args, forward.kwargs))
        if batch is None or is_freed(batch) or not batch.is_floating_point() or batch.shape != target.shape:
            return
        if target.shape != prediction.shape or target.dim() < 2 or target[0].numel() < MIN_COLUMNS:
            return
        self._due = False
        self._looks += 1
        given = tensors_in((forward.args, forward.kwargs))
        times = [each for each in given if each is not batch and each.numel() == len(batch) and not is_freed(each)]
        rows = min(len(batch), ROWS)
        self._columns = min(target[0].numel(), COLUMNS)
        table = side_by_side(batch.detach()[:rows], target[:rows], times[0].reshape(-1)[:rows] if times else None)
        self._waiting.append((self.queue.put(table.reshape(-1)), rows))

    def detach(self, step: int) -> None:
        self._due, self._forward = False, None

    def events(self) -> Iterable[Event]:
        waiting, self._waiting = self._waiting, []
        for pending, rows in waiting:
            moments, table = pending.numbers[:4], pending.numbers[4:].reshape(3, rows)
            if not self._done and is_noise(*moments) and np.isfinite(table[:2]).all():
                self._seen.append(table)
            else:  # a target of another kind
                self._done = True
        if not self._done and sum(each.shape[1] for each in self._seen) >= SAMPLES:
            self._done = True
            facts = {"columns": self._columns, **noise_shown(np.concatenate(self._seen, 1))}
            yield Event(self.context.step, "asked_noise", facts, time.time())


def side_by_side(batch: Tensor, noise: Tensor, times: Tensor | None) -> Tensor:
    """Moments of what is asked for; then, of each sample, its correlation with that, its size, and its time step."""
    given, wanted = (each.detach().reshape(len(each), -1)[:, :COLUMNS].double() for each in (batch, noise))
    neighbours = (wanted[:, 1:] * wanted[:, :-1]).mean()
    moments = torch.stack([wanted.mean(), wanted.square().mean(), wanted.pow(4).mean(), neighbours])
    apart, asked = (each - each.mean(1, keepdim=True) for each in (given, wanted))
    together = (apart * asked).sum(1) / (apart.norm(dim=1) * asked.norm(dim=1)).clamp(min=1e-30)
    steps = torch.full_like(together, torch.nan) if times is None else times.detach().to(together)
    return torch.cat([moments, together, given.square().mean(1).sqrt(), steps])


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
        "samples": len(share),
        "mean": float(share.mean()),
        "least": float(np.quantile(share, 0.02)),
        "most": float(np.quantile(share, 0.98)),
        "cleanest_size": float(np.median(cleanest)),
    }
    if np.isfinite(steps).all() and len(np.unique(steps)) >= MIN_TIMES:
        ranks = [np.argsort(np.argsort(each, kind="stable")) for each in (share, steps)]
        facts["by_time"] = float(np.atleast_2d(np.corrcoef(np.stack(ranks)))[0, 1])
    return facts
