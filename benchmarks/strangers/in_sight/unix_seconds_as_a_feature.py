"""The time of an order goes into the network as it is in the data base: seconds since 1970."""

import math

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = (
    "extreme-input",
    "unnormalised-input",
    "wrong-initial-loss",
    "stalled-loss",
    "stuck-from-start",
    "underfitting",
    "dead-units",
    "oversized-update",
    "noisy-loss",
)


def orders(count):
    """Time, basket value, number of items, is a gift; and the hours until delivery."""
    seconds = 1.6e9 + 3600.0 * torch.randint(0, 24 * 365, (count,))
    hour = (seconds / 3600) % 24
    rest = torch.randn(count, 5)
    hours = 20 + 6 * torch.sin(2 * math.pi * hour / 24) + 4 * rest[:, 0] * rest[:, 1] + 3 * rest[:, 2].abs()
    return seconds, rest, hours + torch.randn(count)


def features(seconds, rest, faulty):
    hour = 2 * math.pi * (seconds / 3600 % 24) / 24
    clock = seconds[:, None] if faulty else torch.stack([hour.sin(), hour.cos()], 1)
    return torch.cat([clock, rest], 1)


def main(watch, faulty):
    seconds, rest, y = orders(3000)
    x = features(seconds, rest, faulty)
    mean, std = y.mean(), y.std()
    model = nn.Sequential(nn.Linear(x.shape[1], 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, optimizer):
        for epoch in range(15):
            total = 0.0
            for idx in torch.randperm(3000).split(100):
                loss = ((model(x[idx]).squeeze(1) - (y[idx] - mean) / std) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.item()
            print(f"epoch {epoch + 1}: {total / 30:.4f}")
    seconds, rest, y = orders(2000)
    with torch.no_grad():
        error = model(features(seconds, rest, faulty)).squeeze(1) * std + mean - y
    return 1 - (error.pow(2).mean() / y.var()).item()
