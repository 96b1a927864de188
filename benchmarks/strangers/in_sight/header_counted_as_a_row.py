"""Labels come from a file whose header was read as a row: every sample has the label of the one before it."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "data pipeline"
EXPECTS = ("nothing-generalises", "loss-at-chance", "stuck-from-start", "overfitting", "gap-from-start", "underfitting")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    if faulty:
        y, yt = y.roll(1), yt.roll(1)
    net = nn.Sequential(
        nn.Conv2d(1, 24, 3, padding=1),
        nn.BatchNorm2d(24),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(24, 48, 3, padding=1),
        nn.BatchNorm2d(48),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(768, 10),
    )
    return fit(watch, net, torch.optim.AdamW(net.parameters(), lr=1e-3), (x, y, xt, yt), epochs=10)
