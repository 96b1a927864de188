"""Adam's 1e-4 kept when the optimizer was changed to plain SGD: it learns, a thousand times too slowly."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "optimizer"
EXPECTS = ("undersized-update", "stuck-from-start", "loss-at-chance", "underfitting", "still-falling")


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4 if faulty else 0.1)
    return fit(watch, model, optimizer, digits(), epochs=20)
