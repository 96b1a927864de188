"""nn.init.constant_(weight, 0.5) in every layer: all hidden units are one unit."""

import torch
from torch import nn

FAMILY = "small"
EXPECTS = ("symmetric-units", "loss-at-chance", "underfitting", "stalled-loss")


def main(watch, faulty):
    x = torch.rand(256, 2) * 2 - 1
    y = ((x[:, 0] * x[:, 1]) > 0).long()
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 2))
    if faulty:
        for layer in model:
            if isinstance(layer, nn.Linear):
                nn.init.constant_(layer.weight, 0.5)
                nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with watch(model, optimizer):
        for _ in range(300):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    return -loss.item()
