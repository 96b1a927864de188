"""Five small models of different kinds, each with batches that suit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class Case:
    model: Callable[[], nn.Module]
    batch: Callable[[], tuple[Tensor, Tensor]]


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.body = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(F.relu(self.norm(self.stem(x)))).mean((2, 3)))


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, 2, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.ln1(x)
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        x = x + self.drop(self.attn(h, h, h, attn_mask=mask, need_weights=False)[0])
        return x + self.drop(self.mlp(self.ln2(x)))


class GPT(nn.Module):
    """Tied embeddings and a bare position parameter."""

    def __init__(self, vocabulary: int = 40, width: int = 16, length: int = 12) -> None:
        super().__init__()
        self.wte = nn.Embedding(vocabulary, width)
        self.wpe = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.ln = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        self.lm_head.weight = self.wte.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.wte(tokens) + self.wpe
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln(x)).flatten(0, 1)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(5, 12, num_layers=2, batch_first=True, dropout=0.1)
        self.head = nn.Linear(12, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


class BareScale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(20))
        self.front = nn.Linear(20, 16)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.drop(F.relu(self.front(x * self.scale))))


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))


def _labels(n: int = 16) -> Tensor:
    return torch.randint(10, (n,))


CASES: dict[str, Case] = {
    "mlp": Case(mlp, lambda: (torch.randn(16, 20), _labels())),
    "conv": Case(ConvNet, lambda: (torch.randn(16, 1, 8, 8), _labels())),
    "gpt": Case(GPT, lambda: (torch.randint(40, (4, 12)), torch.randint(40, (48,)))),
    "lstm": Case(Recurrent, lambda: (torch.randn(16, 7, 5), _labels())),
    "bare": Case(BareScale, lambda: (torch.randn(16, 20), _labels())),
}
