"""Nine classes without an order, and a network with one output that is trained to say the number of the class with a
mean squared error. Predictions are rounded."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "classification"
EXPECTS = ("mismatched-loss", "underfitting", "stalled-loss", "loss-without-accuracy", "unreachable-target")


def flowers(count, centres):
    kind = torch.randint(0, 3 * len(centres), (count,))
    y = kind % 9
    return centres[kind % len(centres)] * (1 + 0.5 * (kind // len(centres)))[:, None] + 0.7 * torch.randn(count, 6), y


def main(watch, faulty):
    centres = 2 * torch.randn(27, 6)
    x, y = flowers(2500, centres)
    xv, yv = flowers(500, centres)
    model = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 1 if faulty else 9))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

    def loss_of(out, target):
        return F.mse_loss(out.squeeze(1), target.float()) if faulty else F.cross_entropy(out, target)

    def predicted(out):
        return out.squeeze(1).round().long() if faulty else out.argmax(1)

    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            for rows in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                loss = loss_of(model(x[rows]), y[rows])
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xv)
            right = (predicted(out) == yv).float().mean().item()
            monitor.log(epoch=epoch, val_loss=loss_of(out, yv).item(), val_acc=right)
    x, y = flowers(2000, centres)
    with torch.no_grad():
        return (predicted(model(x)) == y).float().mean().item()
