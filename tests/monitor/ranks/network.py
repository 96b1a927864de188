"""The network and the loop that all multi-process tests share, and what one process alone would have measured."""

from __future__ import annotations

import torch
from torch import Tensor, nn

BATCH, STEPS, CLIP = 8, 24, 0.5
RATE = 0.05  # low enough that the order in which ranks add up does not grow into another training within these steps


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(8)
        self.up = nn.Linear(8, 12)
        self.down = nn.Linear(12, 8)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.up(self.norm(x)).relu())


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Linear(6, 8)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.embed(x)))


def network() -> Network:
    torch.manual_seed(0)
    return Network()


def batch(step: int, part: int) -> tuple[Tensor, Tensor]:
    """What data-parallel rank `part` gets at this step."""
    generator = torch.Generator().manual_seed(1000 * step + part)
    x = torch.randn(BATCH, 6, generator=generator)
    return x, x[:, :3].argmax(1)


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, step: int, part: int, clip: bool = False) -> float:
    x, y = batch(step, part)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    if clip:
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimizer.step()
    return loss.item()


Norms = dict[str, list[float]]


def alone(parts: int, clip: bool = False) -> dict[str, Norms]:
    """Norms per module of one process that gets the batches of all data-parallel ranks: the slow and obvious way."""
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    found: dict[str, Norms] = {"grad_norm": {}, "param_norm": {}, "update_norm": {}}
    owners = {name: module for name, module in model.named_modules() if list(module.parameters())}
    for step in range(STEPS):
        x, y = (torch.cat(each) for each in zip(*(batch(step, part) for part in range(parts)), strict=True))
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        before = {name: [p.detach().clone() for p in module.parameters()] for name, module in owners.items()}
        for name, module in owners.items():
            _add(found["grad_norm"], name, [p.grad for p in module.parameters()])
        if clip:
            nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        for name, module in owners.items():
            _add(found["param_norm"], name, list(module.parameters()))
            _add(found["update_norm"], name, [p - b for p, b in zip(module.parameters(), before[name], strict=True)])
    return found


def _add(norms: Norms, name: str, tensors: list[Tensor | None]) -> None:
    squares = sum(float(each.detach().double().square().sum()) for each in tensors if each is not None)
    norms.setdefault(name, []).append(squares**0.5)
