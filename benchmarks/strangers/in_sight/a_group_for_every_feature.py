"""GroupNorm with as many groups as features, on vectors: a group is one number, and normalising it leaves nothing."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "normalisation"
EXPECTS = ("collapsed-activations", "loss-at-chance", "dead-layer", "stuck-from-start", "silent-parameter")


def main(watch, faulty):
    groups = 64 if faulty else 8
    model = nn.Sequential(
        nn.Linear(64, 64),
        nn.GroupNorm(groups, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.GroupNorm(groups, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(watch, model, opt, digits(), epochs=20)
