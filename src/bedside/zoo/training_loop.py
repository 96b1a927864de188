"""The plain training loop, for specimens whose fault is elsewhere; one with a fault in its loop writes out its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from bedside.monitor.monitor import Monitor
from bedside.zoo.data import Task
from bedside.zoo.specimen import Case

EVALUATIONS = 20  # over a run: as many as a careful user has; faults that only validation shows may ask for more


def train(
    case: Case,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    task: Task,
    *,
    steps: int = 300,
    batch: int = 64,
    loss: Callable[[Tensor, Tensor], Tensor] | None = None,
    scheduler: Any = None,
    clip: float | None = None,
    evaluations: int = EVALUATIONS,
    **config: Any,
) -> None:
    """Train for `steps` steps, watched and evaluated at even distances; `config` goes to bedside."""
    loss = loss or cross_entropy
    every = max(1, steps // evaluations)
    per_epoch = max(1, len(task) // batch)
    with case.watch(model, optimizer, **config) as monitor:
        for step, (x, y) in enumerate(task.batches(steps, batch)):
            if step % per_epoch == 0:
                monitor.epoch()
            optimizer.zero_grad()
            loss(model(x), y).backward()
            if clip is not None:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
            if scheduler is not None:
                scheduler.step()
            if step % every == every - 1:
                validate(monitor, model, task, loss)
            case.look(monitor)


def validate(
    monitor: Monitor, model: nn.Module, task: Task, loss: Callable[[Tensor, Tensor], Tensor] | None = None
) -> None:
    """The held-out loss, and the accuracy where there are classes."""
    loss = loss or cross_entropy
    model.eval()
    with monitor.validation(), torch.no_grad():
        answers = model(task.x_val)
        monitor.log(val_loss=loss(answers, task.y_val))
        if not task.y_val.is_floating_point():
            monitor.log(accuracy=accuracy(answers, task.y_val))
    model.train()


def cross_entropy(answers: Tensor, targets: Tensor) -> Tensor:
    """Also over sequences, where classes are the last dimension."""
    return F.cross_entropy(answers.flatten(0, -2), targets.flatten())


def accuracy(answers: Tensor, targets: Tensor) -> Tensor:
    return (answers.argmax(-1) == targets).float().mean()
