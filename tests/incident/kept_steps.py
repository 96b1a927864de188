"""A training step by hand, and the incident that is made of it, without a monitor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from bedside.incident.capture.buffers import BuffersBefore
from bedside.incident.capture.capture import Training, Trigger, capture
from bedside.incident.capture.micro_batches import MicroBatches
from bedside.incident.folder import write
from bedside.incident.incident import Incident, load

NONFINITE = Trigger("nonfinite gradient", "the gradient is not finite.")
ENOUGH = 10**9


class WithLog(nn.Module):
    """NaN for a row whose first input is far below zero; dropout, so that random numbers count."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(4, 16)
        self.drop = nn.Dropout(0.5)
        self.last = nn.Linear(16, 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.seen += 1
        scale = (x[:, :1] + 3).log()  # the line that a replay should name
        return self.last(self.drop(self.first(x)).relu()) * scale


def a_batch(rows: int = 8, bad: Sequence[int] = (), *, seed: int = 1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.rand(rows, 4, generator=generator), torch.randint(0, 3, (rows,), generator=generator)
    x[list(bad), 0] = -4.0
    return x, y


def keep(
    folder: Path,
    model: nn.Module,
    batches: Sequence[tuple[Tensor, Tensor]],
    loss_fn: Callable[[Any, Any], Tensor],
    *,
    trigger: Trigger = NONFINITE,
    optimizer: torch.optim.Optimizer | None = None,
    max_bytes: int = ENOUGH,
    redact: Callable[[Any], Any] | None = None,
    indices: Sequence[int] | None = None,
) -> Incident:
    """One step over these micro-batches, kept before it is taken, written and read again."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=1e-3)
    held = MicroBatches()
    buffers = BuffersBefore(model)
    buffers.step_begins()
    optimizer.zero_grad()
    for x, y in batches:
        held.batch_loaded((x, y), indices)
        held.forward_begins((x,), {}, ())
        loss = loss_fn(model(x), y) / len(batches)
        held.loss_computed("cross_entropy", y)
        loss.backward()
        held.backward_ended([loss.item()])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    training = Training(model, [optimizer], None, [scheduler], buffers.before())
    captured = capture(trigger, training, list(held), step=12, rank=0, redact=redact)
    return load(write(captured, folder, max_bytes))
