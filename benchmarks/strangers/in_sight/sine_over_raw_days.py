"""A sine fitted over day numbers from 0 to 365 as they are, with ReLUs and SGD."""

import torch
from torch import nn

FAMILY = "small"
EXPECTS = ("unnormalised-input", "nonfinite-loss", "exploding-gradient", "oversized-update", "dead-units",
           "loss-at-chance", "extreme-input", "underfitting")  # fmt: skip


def main(watch, faulty):
    day = torch.arange(0.0, 365.0).unsqueeze(1)
    y = torch.sin(day * 2 * 3.14159 / 365) + 0.05 * torch.randn(365, 1)
    x = day if faulty else (day - day.mean()) / day.std()
    model = nn.Sequential(nn.Linear(1, 20), nn.ReLU(), nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with watch(model, optimizer):
        for _ in range(500):
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return -loss.item() if loss.isfinite() else -1e9
