"""Four trainings: a small MLP, a residual net, a GPT, and a net of very many small tensors.

Put together as people do, blocks within stages: whoever adds up norms for every module reads a parameter once for each
module around it. 7, 59, 66 and 537 modules; 6, 47, 77 and 524 tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class Training:
    """What a watcher may take hold of; some replace the optimizer."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    batch: Callable[[], tuple[Tensor, Tensor]]
    clip: float | None = None


@dataclass(frozen=True)
class Workload:
    model: Callable[[], nn.Module]
    batch: Callable[[], tuple[Tensor, Tensor]]
    warm_up: int  # steps before anything is measured: bedside's full recording is then over
    block: int  # steps that are timed together
    clip: float | None = None
    steady: int = 105  # the same for bedside without a budget: the first hundred are observed in full
    brief: int = 5  # and for those that do at every step what they do at the first


class Residual(nn.Module):
    def __init__(self, width: int, to: int) -> None:
        super().__init__()
        stride = 1 if width == to else 2
        self.first, self.norm1 = nn.Conv2d(width, to, 3, stride, 1, bias=False), nn.BatchNorm2d(to)
        self.second, self.norm2 = nn.Conv2d(to, to, 3, 1, 1, bias=False), nn.BatchNorm2d(to)
        self.relu = nn.ReLU()
        self.short: nn.Module = nn.Identity()
        if width != to:
            self.short = nn.Sequential(nn.Conv2d(width, to, 1, stride, bias=False), nn.BatchNorm2d(to))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.norm2(self.second(self.relu(self.norm1(self.first(x)))))
        return self.relu(inner + self.short(x))


def residual_net() -> nn.Module:
    stages = [(38, 38), (38, 76), (76, 152)]
    stem = nn.Sequential(nn.Conv2d(3, 38, 3, 1, 1, bias=False), nn.BatchNorm2d(38), nn.ReLU())
    body = nn.Sequential(*(nn.Sequential(Residual(a, b), Residual(b, b)) for a, b in stages))
    return nn.Sequential(stem, body, nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(152, 10)))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.inputs, self.outputs = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
        return self.outputs(mixed)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.feed(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary: int = 10_000, width: int = 256, layers: int = 6, length: int = 128) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.ModuleList(Layer(width, 8) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places.weight
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).flatten(0, 1)


def deep(stages: int = 13, blocks: int = 10, width: int = 32) -> nn.Module:
    def block() -> nn.Module:
        return nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.ReLU())

    body = nn.Sequential(*(nn.Sequential(*(block() for _ in range(blocks))) for _ in range(stages)))
    return nn.Sequential(nn.Linear(20, width), body, nn.Linear(width, 10))


def chain(modules: int) -> nn.Module:
    """So many modules with two small tensors each, for how the cost grows."""
    return nn.Sequential(nn.Linear(20, 8), *(nn.Linear(8, 8) for _ in range(modules - 2)), nn.Linear(8, 10))


def mlp() -> nn.Module:
    layers = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))
    return nn.Sequential(layers)


def _vectors(size: int, count: int) -> Callable[[], tuple[Tensor, Tensor]]:
    return lambda: (torch.randn(count, size), torch.randint(10, (count,)))


WORKLOADS: dict[str, Workload] = {
    "mlp": Workload(mlp, _vectors(784, 64), warm_up=700, block=50, steady=300, brief=300),
    "resnet": Workload(
        residual_net, lambda: (torch.randn(64, 3, 32, 32), torch.randint(10, (64,))), warm_up=155, block=1
    ),
    "gpt": Workload(
        GPT,
        lambda: (torch.randint(10_000, (8, 128)), torch.randint(10_000, (8 * 128,))),
        warm_up=155,
        block=2,
        clip=1.0,
    ),
    "transformer": Workload(
        lambda: GPT(vocabulary=1000, width=128, layers=4, length=64),
        lambda: (torch.randint(1000, (8, 64)), torch.randint(1000, (8 * 64,))),
        warm_up=155,
        block=10,
        clip=1.0,
    ),
    "deep": Workload(deep, _vectors(20, 32), warm_up=520, block=10, clip=1.0, steady=530, brief=60),
} | {
    f"chain-{n}": Workload(lambda n=n: chain(n), _vectors(20, 16), warm_up=105, block=block, brief=25)
    for n, block in ((10, 50), (100, 20), (1000, 5), (5000, 2))
}


def build(name: str, fused: bool) -> Training:
    torch.manual_seed(0)
    workload = WORKLOADS[name]
    model = workload.model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **({"fused": True} if fused else {}))
    batches = [workload.batch() for _ in range(8)]  # made beforehand: data are not what is measured
    state = {"turn": 0}

    def batch() -> tuple[Tensor, Tensor]:
        state["turn"] += 1
        return batches[state["turn"] % len(batches)]

    return Training(model, optimizer, batch, workload.clip)
