"""A bias of -20 in the first hidden layer (a slip in a custom initialiser): every ReLU is dead from the start."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "initialisation"
EXPECTS = ("dead-units", "dead-layer", "silent-parameter", "loss-at-chance", "constant-loss", "stuck-from-start")


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    nn.init.constant_(model[0].bias, -20.0 if faulty else 0.0)
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), digits(), epochs=12)
