"""SGD with momentum at a rate of 1: the first steps throw the ReLUs of a conv net below zero for good."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv"
EXPECTS = ("oversized-update", "dead-units", "dead-layer", "loss-at-chance", "stuck-from-start", "diverging-loss")


def main(watch, faulty):
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3), nn.ReLU(), nn.Conv2d(12, 24, 3), nn.ReLU(), nn.Flatten(), nn.Linear(384, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0 if faulty else 0.03, momentum=0.9)
    return fit(watch, model, optimizer, digits(flat=False), epochs=12, batch=50)
