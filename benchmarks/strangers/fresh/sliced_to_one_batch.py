"""A debugging slice was left in: the loader holds the first 64 examples only."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "data"
EXPECTS = ("overfitting", "repeated-batches", "gap-from-start", "overconfident", "nothing-generalises")


def main(watch, faulty):
    x, y, xt, yt = digits()
    rows = 64 if faulty else len(x)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(watch, model, optimizer, (x[:rows], y[:rows], xt, yt), epochs=400 if faulty else 20, batch=32)
