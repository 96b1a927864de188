"""A small healthy training to begin with, for the pages of checks and their tests.

>>> from bedside.preflight.checks.train_mode import train_mode
>>> from torch import nn
>>> print(examined(train_mode, nn.Sequential(nn.Dropout(0.1), nn.Linear(8, 3))))
PRE401 train-mode: the model is in training mode
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from bedside.preflight.check import Answer, Check
from bedside.preflight.setup import Setup

FEATURES, CLASSES = 8, 3


def examples(count: int = 96, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Inputs and labels that a linear layer can learn."""
    chosen = torch.Generator().manual_seed(seed)
    x = torch.randn(count, FEATURES, generator=chosen)
    truth = torch.randn(FEATURES, CLASSES, generator=torch.Generator().manual_seed(1))
    return x, (x @ truth).argmax(1)


def loader(x: Tensor, y: Tensor, batch: int = 16, shuffle: bool = True) -> Iterable[Any]:
    order = torch.Generator().manual_seed(2) if shuffle else None
    made: Iterable[Any] = DataLoader(TensorDataset(x, y), batch_size=batch, shuffle=shuffle, generator=order)
    return made


def seeded(make: Callable[[], nn.Module], seed: int = 0) -> nn.Module:
    """A model with known weights, whatever random numbers others have drawn."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def a_model() -> nn.Module:
    return nn.Sequential(nn.Linear(FEATURES, 32), nn.ReLU(), nn.Linear(32, CLASSES))


def a_setup(
    model: Callable[[], nn.Module] | nn.Module = a_model,
    *,
    x: Tensor | None = None,
    y: Tensor | None = None,
    loss_fn: Any = F.cross_entropy,
    optimizer: Callable[[nn.Module], Any] | None = lambda model: torch.optim.AdamW(model.parameters(), lr=1e-3),
    shuffle: bool = True,
    **others: Any,
) -> Setup:
    """A Setup in which one thing is as the caller says, and the rest is well."""
    made = model if isinstance(model, nn.Module) else seeded(model)
    inputs, targets = examples()
    batches = others.pop("train_loader", None)
    if batches is None:
        batches = loader(inputs if x is None else x, targets if y is None else y, shuffle=shuffle)
    return Setup(made, batches, loss_fn, optimizer(made) if optimizer else None, **others)


def examined(check: Check, model: Callable[[], nn.Module] | nn.Module = a_model, **others: Any) -> Answer:
    """What one check says of such a training."""
    with a_setup(model, **others).opened() as setup:
        return check.examine(setup)
