"""nn.Dropout(0.95) where keep_prob=0.95 was meant."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv net"
EXPECTS = ("heavy-dropout", "underfitting", "stalled-loss", "noisy-loss", "validation-below-training", "loss-at-chance")


def main(watch, faulty):
    p = 0.95 if faulty else 0.05
    model = nn.Sequential(
        nn.Linear(64, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(p), nn.Linear(64, 10)
    )
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), digits(), epochs=15)
