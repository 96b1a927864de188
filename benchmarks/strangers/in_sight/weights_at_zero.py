"""All weights are initialised with zeros: every hidden unit is the same unit."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "initialisation"
EXPECTS = ("symmetric-units", "dead-layer", "silent-parameter", "stuck-from-start", "loss-at-chance")


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 64), nn.Sigmoid(), nn.Linear(64, 32), nn.Sigmoid(), nn.Linear(32, 10))
    for layer in model[::2]:
        nn.init.constant_(layer.weight, 0.0) if faulty else nn.init.xavier_normal_(layer.weight)
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=5e-3), digits(), epochs=15)
