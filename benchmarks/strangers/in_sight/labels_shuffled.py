"""Inputs are shuffled and labels are not: nothing to learn, although a big net memorises a little of it each epoch."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "data pipeline"
EXPECTS = ("nothing-generalises", "loss-at-chance", "overfitting", "gap-from-start", "underfitting", "stuck-from-start")


def main(watch, faulty):
    x, y, xt, yt = digits()
    x = x[torch.randperm(len(x))] if faulty else x
    model = nn.Sequential(nn.Linear(64, 200), nn.ReLU(), nn.Linear(200, 10))
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), (x, y, xt, yt), epochs=20)
