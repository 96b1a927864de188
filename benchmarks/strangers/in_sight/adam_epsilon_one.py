"""Adam with eps=1 from somebody else's recipe: gradients are 1e-3, so steps are a thousandth of the rate."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "optimizer"
EXPECTS = ("damped-step", "undersized-update", "stuck-from-start", "underfitting", "loss-at-chance")


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, eps=1.0 if faulty else 1e-8)
    return fit(watch, model, optimizer, digits(), epochs=15)
