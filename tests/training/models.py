"""Small trainings of every shape of batch, shared by the tests of experiments and checks."""

from __future__ import annotations

import copy
import dataclasses
import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

from bedside.training.step import Loop, Training


@dataclasses.dataclass(frozen=True)
class Pair:
    inputs: torch.Tensor
    targets: torch.Tensor


class Net(nn.Module):
    """BatchNorm, dropout, a buffer of its own and a counter: everything a forward may change."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Dropout(0.3))
        self.head = nn.Linear(width, 3)
        self.register_buffer("seen", torch.zeros(()), persistent=False)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        self.seen = self.seen + len(x)
        return self.head(self.body(x))


def examples(count: int = 96, seed: int = 0):
    chosen = torch.Generator().manual_seed(seed)
    x = torch.randn(count, 8, generator=chosen)
    return x, (x @ torch.randn(8, 3, generator=chosen)).argmax(1)


def loader(batch: int = 16, count: int = 96, **options) -> DataLoader:
    options.setdefault("shuffle", True)
    return DataLoader(TensorDataset(*examples(count)), batch_size=batch, **options)


def cross_entropy(output, batch):
    return F.cross_entropy(output, batch[1])


def everything(training):
    """All state by the obvious way: deep copies of what state_dict and the libraries themselves say."""
    model, optimizer = training.model, training.optimizer
    return copy.deepcopy(
        {
            "model": [(n, t) for n, t in [*model.named_parameters(), *model.named_buffers()]],
            "calls": model.calls,
            "modes": [m.training for m in model.modules()],
            "trainable": [p.requires_grad for p in model.parameters()],
            "grads": [p.grad for p in model.parameters()],
            "optimizer": optimizer.state_dict(),
            "scheduler": training.loop.scheduler.state_dict(),
            "scaler": training.loop.scaler.state_dict(),
            "random": (torch.get_rng_state(), random.getstate(), np.random.get_state()),
            "generator": training.loader.generator.get_state(),
        }
    )


def same(one, other):
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other) or bool((one.isnan() & other.isnan()).any())
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def a_training(steps=3):
    torch.manual_seed(0)
    model = Net()
    model.body[1].eval()  # a layer that its owner has frozen
    optimizer = torch.optim.AdamW(
        [{"params": model.body.parameters(), "lr": 1e-3}, {"params": model.head.parameters(), "lr": 1e-2}]
    )
    loop = Loop(torch.optim.lr_scheduler.StepLR(optimizer, 2), torch.amp.GradScaler("cpu"), torch.bfloat16, 2, 1.0)
    generator = torch.Generator().manual_seed(1)
    training = Training(model, loader(generator=generator), cross_entropy, optimizer, loop=loop)
    for step in range(steps):
        training.step(step)
    return training
