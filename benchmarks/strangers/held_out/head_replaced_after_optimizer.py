"""Fine-tuning: the head is replaced for the new classes after the optimizer was built."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "loop"
EXPECTS = ("stale-optimizer", "uncovered-parameter", "unmoved-parameter")


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU(), nn.Linear(24, 2))
    fresh = nn.Linear(24, 10)
    if not faulty:
        model[4] = fresh
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    model[4] = fresh
    return fit(watch, model, optimizer, digits(), epochs=14)
