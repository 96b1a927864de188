"""A ReLU after the last layer of a classifier whose bias starts low: most logits are zero for ever."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv net"
EXPECTS = ("dead-units", "dead-layer", "mismatched-loss", "stuck-from-start", "loss-at-chance", "stalled-loss")


def main(watch, faulty):
    last = nn.ReLU() if faulty else nn.Identity()
    model = nn.Sequential(
        nn.Conv2d(1, 12, 3),
        nn.ReLU(),
        nn.Conv2d(12, 24, 3),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(96, 10),
        last,
    )
    nn.init.constant_(model[6].bias, -0.3)
    return fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), digits(flat=False), epochs=15)
