"""Weight decay of 30 in AdamW (0.01 was meant): the weights shrink to nothing."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "optimizer"
EXPECTS = (
    "shrinking-weights",
    "collapsed-activations",
    "underfitting",
    "stuck-from-start",
    "stalled-loss",
    "loss-at-chance",
)


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=30.0 if faulty else 0.01)
    return fit(watch, model, optimizer, digits(), epochs=15)
