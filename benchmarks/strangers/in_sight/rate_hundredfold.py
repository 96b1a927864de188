"""Adam at 0.3 instead of 0.003 in a conv net."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv net"
EXPECTS = (
    "oversized-update",
    "diverging-loss",
    "loss-at-chance",
    "stuck-from-start",
    "exploding-gradient",
    "dead-units",
)


def main(watch, faulty):
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=0.3 if faulty else 0.003)
    return fit(watch, model, optimizer, digits(flat=False), epochs=8)
