"""One optimizer step as the user's loop takes it: accumulation, autocast, scaler, clipping, scheduler.

`Training` holds the user's objects; `training.step(n)` takes step n on the loader's batches and returns its loss.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from bedside.errors import BadModel, BadOption
from bedside.training.forward import BatchLoss, Forward, LossFunction, device_of
from bedside.training.loader import Batches

USUAL, MIN_NORMS = 50, 5  # steps whose median norm is the usual one, and how many it takes to know it


@dataclass
class Loop:
    """How the user's loop takes a step, beside model, loss and optimizer."""

    scheduler: Any = None  # stepped after every optimizer step
    scaler: Any = None  # torch.amp.GradScaler
    autocast: torch.dtype | None = None  # torch.bfloat16 or torch.float16
    accumulate: int = 1  # micro-batches per step; the loss is their mean
    clip: float | None = None  # the largest gradient norm
    skip_above: float | None = None  # times the usual gradient norm: steps beyond it are left out


@dataclass
class Training:
    """A model, its batches, its loss and the way it is trained."""

    model: nn.Module
    loader: Iterable[Any]
    loss_fn: LossFunction | None = None
    optimizer: Optimizer | None = None
    forward: Forward | None = None
    loop: Loop = field(default_factory=Loop)
    before_update: Callable[[], None] | None = None  # called when the gradients are complete, before clipping

    def __post_init__(self) -> None:
        self.loss = BatchLoss(self.model, self.loss_fn, self.forward)
        self.batches = Batches(self.loader)
        self.optimizer = real_optimizer(self.optimizer)
        self._norms: list[float] = []  # of the steps that were taken
        if self.loop.accumulate < 1:
            raise BadOption(
                f"accumulate={self.loop.accumulate} is not a number of micro-batches.",
                expected="a whole number from 1 on",
                try_="accumulate=1",
            )

    @property
    def parts(self) -> tuple[Any, ...]:
        """What changes when it trains, beside the model and the loader."""
        return (self.optimizer, self.loop.scheduler, self.loop.scaler)

    def train_mode(self) -> None:
        """Training mode; a model that is in it already keeps the parts that its owner has frozen."""
        if not self.model.training:
            self.model.train()

    def autocast(self) -> AbstractContextManager[Any]:
        dtype = self.loop.autocast
        return nullcontext() if dtype is None else torch.autocast(device_of(self.model).type, dtype=dtype)

    def batch_loss(self, batch: Any) -> Tensor:
        """The loss of one batch, in the precision of the loop."""
        with self.autocast():
            return self.loss(batch)

    def step(self, number: int) -> float:
        """Take optimizer step `number` on the batches that belong to it; the mean loss before the step."""
        share = self.loop.accumulate
        return self.step_on([self.batches[number * share + micro] for micro in range(share)])

    def step_on(self, micro_batches: list[Any]) -> float:
        """Take one optimizer step on these batches. A loss that is not finite is returned as it is."""
        optimizer, loop = self.needed_optimizer(), self.loop
        optimizer.zero_grad()
        total = 0.0
        for batch in micro_batches:
            loss = self.batch_loss(batch) / len(micro_batches)
            total += float(loss.detach())
            if not loss.requires_grad:
                raise BadModel(
                    "The loss has no gradient: it does not depend on any trainable parameter.",
                    expected="a loss that is computed from the model's output without .detach(), .item() or no_grad",
                    try_="loss_fn(model(inputs), targets).requires_grad, which should be True",
                )
            (loss if loop.scaler is None else loop.scaler.scale(loss)).backward()
        self._update(optimizer)
        return total

    def _update(self, optimizer: Optimizer) -> None:
        loop = self.loop
        if loop.scaler is not None:
            loop.scaler.unscale_(optimizer)
        if self.before_update is not None:
            self.before_update()
        if loop.skip_above is not None and self._is_outlier(loop.skip_above):
            if loop.scaler is not None:
                loop.scaler.update()
            return
        if loop.clip is not None and math.isfinite(loop.clip):
            nn.utils.clip_grad_norm_(self.model.parameters(), loop.clip)
        if loop.scaler is not None:
            loop.scaler.step(optimizer)
            loop.scaler.update()
        else:
            optimizer.step()
        if loop.scheduler is not None:
            loop.scheduler.step()

    def _is_outlier(self, times: float) -> bool:
        """Whether this step's gradient is not finite, or far beyond what the last steps had."""
        gradients = [each.grad for each in self.model.parameters() if each.grad is not None]
        norm = float(torch.nn.utils.get_total_norm(gradients))
        usual = statistics.median(self._norms[-USUAL:]) if len(self._norms) >= MIN_NORMS else math.inf
        if math.isfinite(norm) and norm <= times * usual:
            self._norms.append(norm)
            return False
        return True

    def forget_norms(self) -> None:
        """A new fork begins: what its gradients usually are is still to be seen."""
        self._norms.clear()

    def needed_optimizer(self) -> Optimizer:
        if self.optimizer is None:
            raise BadModel(
                "No optimizer was given.",
                expected="the optimizer that the training uses",
                try_="optimizer=torch.optim.AdamW(model.parameters(), lr=1e-3)",
            )
        return self.optimizer


def real_optimizer(optimizer: Any) -> Optimizer | None:
    """The torch optimizer inside whatever wraps it (Accelerate does)."""
    if optimizer is None:
        return None
    inner = getattr(optimizer, "optimizer", optimizer)
    if not isinstance(inner, Optimizer):
        raise BadModel(
            f"{type(optimizer).__name__} is not an optimizer.",
            expected="a torch.optim.Optimizer",
            try_="torch.optim.AdamW(model.parameters(), lr=1e-3)",
        )
    return inner
