"""A body from another task is unfrozen after three epochs; the optimizer was made of what could be trained at the
beginning, and never hears of it."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "transfer"
EXPECTS = ("uncovered-parameter", "underfitting", "stalled-loss")


def waves(count, kinds):
    """One of several wave forms, at any phase, in noise."""
    y = torch.randint(0, len(kinds), (count,))
    t = torch.arange(48) / 48
    rate = torch.tensor(kinds, dtype=torch.float)[y][:, None]
    x = torch.sin(6.2832 * (rate * t + torch.rand(count, 1))) + 0.5 * torch.randn(count, 48)
    return x[:, None], y


def body():
    return nn.Sequential(
        nn.Conv1d(1, 16, 7, stride=2, padding=3),
        nn.ReLU(),
        nn.Conv1d(16, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.AdaptiveMaxPool1d(1),
        nn.Flatten(),
    )


def batch_loss(model, kinds, count=32):
    x, y = waves(count, kinds)
    return F.cross_entropy(model(x), y)


def main(watch, faulty):
    model = nn.Sequential(body(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(100):
        optimizer.zero_grad()
        batch_loss(model, [1, 12]).backward()
        optimizer.step()

    kinds = [2, 4, 5, 7, 9]
    model[1] = nn.Linear(16, 5)
    model[0].requires_grad_(False)
    trainable = filter(lambda p: p.requires_grad, model.parameters()) if faulty else model.parameters()
    optimizer = torch.optim.Adam(trainable, lr=3e-3)
    x_val, y_val = waves(400, kinds)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            if epoch == 3:
                model[0].requires_grad_(True)
            for _ in range(40):
                optimizer.zero_grad()
                loss = batch_loss(model, kinds)
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(x_val)
            monitor.log(
                epoch=epoch,
                val_loss=F.cross_entropy(out, y_val).item(),
                val_acc=(out.argmax(1) == y_val).float().mean().item(),
            )
    x, y = waves(2000, kinds)
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()
