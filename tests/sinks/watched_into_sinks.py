"""A small training with sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

import bedside


def train(folder: Path, sinks: list[Any], steps: int = 60, lr: float = 0.05, **options: Any) -> bedside.Run:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    w = torch.randn(6, 1)
    with bedside.watch(
        model, optimizer, run_dir=folder, sinks=sinks, quiet=True, config={"data": "toy"}, **options
    ) as monitor:
        for step in range(steps):
            x = torch.randn(16, 6)
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x), x @ w).backward()
            optimizer.step()
            if step % 20 == 19:
                monitor.log(val_loss=1.0 / (step + 1), accuracy=step / 100)
    return bedside.load(folder)
