"""The model is built a second time after the optimizer, with more hidden units; the optimizer keeps the first one."""

import torch
from torch import nn

FAMILY = "small"
EXPECTS = ("stale-optimizer", "uncovered-parameter", "step-without-gradient", "stuck-from-start", "constant-loss")


def build(hidden):
    return nn.Sequential(nn.Linear(2, hidden), nn.ReLU(), nn.Linear(hidden, 2))


def main(watch, faulty):
    angle, y = torch.rand(300) * 3.14159, torch.arange(300) % 2
    x = torch.stack([angle.cos(), angle.sin()], 1)
    x[y == 1] = torch.tensor([1.0, 0.4]) - x[y == 1]
    x = x + 0.1 * torch.randn(300, 2)
    model = build(16)
    if faulty:
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        model = build(64)
    else:
        model = build(64)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    with watch(model, optimizer):
        for _ in range(300):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return -loss.item()
