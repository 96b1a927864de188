"""A hand-written normalisation that takes the variance as the mean of squares minus the square of the mean: for large
numbers with a small spread it comes out below zero, and its root is NaN."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "hand-written layers"
EXPECTS = (
    "nonfinite-activation",
    "nonfinite-loss",
    "nonfinite-gradient",
    "nonfinite-weights",
    "nonfinite-input",
    "extreme-input",
)


class Normalise(nn.Module):
    """Every signal by its own mean and spread, over time."""

    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.gain, self.shift = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        if self.faulty:
            variance = x.pow(2).mean(-1, keepdim=True) - mean.pow(2)
        else:
            variance = (x - mean).pow(2).mean(-1, keepdim=True)
        return (x - mean) / (variance + 1e-5).sqrt() * self.gain + self.shift


def pressure(count, length=64):
    """Air pressure in pascal, nearly constant; the label is whether it falls faster at the end."""
    curve = 0.4 * torch.randn(count, 1)
    t = torch.linspace(-1, 1, length)
    x = (
        101325
        + 300 * torch.randn(count, 1)
        + 3 * (curve * t**2 + torch.randn(count, 1) * t)
        + 0.3 * torch.randn(count, length)
    )
    return x, (curve.squeeze(1) < 0).long()


def main(watch, faulty):
    x, y = pressure(2000)
    xv, yv = pressure(500)
    model = nn.Sequential(Normalise(faulty), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            for rows in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x[rows]), y[rows])
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                acc = (model(xv).argmax(1) == yv).float().mean().item()
            monitor.log(epoch=epoch, val_acc=acc)
    x, y = pressure(2000)
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()
