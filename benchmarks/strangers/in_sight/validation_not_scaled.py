"""Training images are standardised, validation images are the raw numbers between 0 and 16."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "data pipeline"
EXPECTS = ("inputs-differ", "gap-from-start", "nothing-generalises", "erratic-validation")


def main(watch, faulty):
    x, y, xt, yt = digits()
    mean, std = x.mean(), x.std()
    x, xt = (x - mean) / std, xt * 16 if faulty else (xt - mean) / std
    model = nn.Sequential(
        nn.Linear(64, 64), nn.BatchNorm1d(64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 10)
    )
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), (x, y, xt, yt), epochs=14)
