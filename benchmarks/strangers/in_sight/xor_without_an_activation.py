"""XOR by two linear layers with nothing between them."""

import torch
from torch import nn

FAMILY = "small"
EXPECTS = ("linear-network", "loss-at-chance", "underfitting", "stuck-from-start", "stalled-loss")


def main(watch, faulty):
    x = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = torch.tensor([[0.0], [1.0], [1.0], [0.0]])
    model = nn.Sequential(nn.Linear(2, 8), nn.Identity() if faulty else nn.Tanh(), nn.Linear(8, 1), nn.Sigmoid())
    criterion = nn.BCELoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    with watch(model, optimizer):
        for _ in range(400):
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
    return -loss.item()
