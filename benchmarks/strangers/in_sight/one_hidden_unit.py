"""nn.Linear(64, 1) and nn.Linear(1, 10): a number of layers was typed where the width belongs."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "small"
EXPECTS = ("underfitting", "stalled-loss", "loss-at-chance", "dead-units")


def main(watch, faulty):
    x, y, xt, yt = digits()
    hidden = 1 if faulty else 64
    model = nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Linear(hidden, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with watch(model, optimizer):
        for _ in range(400):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
    return (model(xt).argmax(1) == yt).float().mean().item()
