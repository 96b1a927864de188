"""Autoencoders: how much do reconstructions differ from sample to sample, beside the samples themselves?

Where the loss compares the model's output with its input, an output that is the same for every sample has learnt their
mean and nothing else: the code in the middle says nothing (posterior collapse). One is a reconstruction that varies as
much as the samples do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bedside.collect.collector import Collector, RowSet, WatchContext
from bedside.collect.hooks.called_modules import Forward
from bedside.collect.reading.device_queue import PendingValue
from bedside.collect.vitals.inputs import first_input
from bedside.collect.vitals.leaked_labels import both_ends
from bedside.record.missing import MISSING
from bedside.training.freed_tensors import is_freed

MIN_SAMPLES = 8  # of a batch: the spread of fewer says little
LOGITS = "binary_cross_entropy_with_logits"
LOSSES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", LOGITS)


class Reconstruction(Collector):
    """Compares the spread of outputs over a batch with that of its samples."""

    name = "reconstruction"
    vitals = ("reconstruction_variation",)

    def __init__(self, context: WatchContext) -> None:
        super().__init__(context)
        self._due = False
        self._batch: Tensor | None = None
        self._waiting: list[tuple[int, PendingValue]] = []

    def attach(self, step: int) -> None:
        self._due = True

    def forward_begins(self, forward: Forward) -> None:
        if self._due and self._batch is None and forward.grad and not forward.validating:
            batch = first_input((forward.args, forward.kwargs))
            if batch is not None and batch.is_floating_point() and batch.dim() > 1 and len(batch) >= MIN_SAMPLES:
                self._batch = batch.detach()

    def loss_computed(self, function: str, prediction: Any, target: Any) -> None:
        batch = self._batch
        if batch is None or is_freed(batch) or function not in LOSSES or not isinstance(prediction, Tensor):
            return
        if not isinstance(target, Tensor) or not prediction.requires_grad:
            return
        if batch.numel() == target.numel() == prediction.numel() and len(prediction) == len(target) == len(batch):
            self._due, self._batch = False, None
            made = prediction.detach().sigmoid() if function == LOGITS else prediction.detach()
            self._waiting.append((self.context.step, self.queue.put(spreads(made, target.detach(), batch))))

    def detach(self, step: int) -> None:
        self._due, self._batch = False, None

    def rows(self) -> Iterable[RowSet]:
        waiting, self._waiting = self._waiting, []
        values = [_variation(*pending.numbers) for _, pending in waiting]
        found = [(step, value) for (step, _), value in zip(waiting, values, strict=True) if value is not MISSING]
        if found:
            table = np.asarray([[value] for _, value in found])
            yield RowSet("reconstruction", [("reconstruction_variation", "")], [step for step, _ in found], table)


def spreads(made: Tensor, target: Tensor, batch: Tensor) -> Tensor:
    """Whether the target is the input, and the variance over samples of what was made and of what should have been."""
    made, target, batch = (both_ends(each.reshape(len(each), -1)) for each in (made, target, batch))
    same = (target == batch).all().double()
    return torch.stack([same, *(each.double().var(0).mean() for each in (made, target))])


def _variation(same: float, made: float, target: float) -> float:
    return float(np.sqrt(made / target)) if same and target > 0 else MISSING
