"""Small trainings of every shape of batch, shared by the tests of experiments and checks."""

from __future__ import annotations

import dataclasses

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


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
