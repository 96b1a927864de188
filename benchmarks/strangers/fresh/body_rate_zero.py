"""Two parameter groups; the body's rate is 1e-3 * 0 because an integer division made the factor 0."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "optimizer"
EXPECTS = ("unmoved-parameter", "undersized-update", "no-learning-rate", "vanished-learning-rate", "frozen-untrained")


def main(watch, faulty):
    body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    head = nn.Linear(64, 10)
    model = nn.Sequential(body, head)
    factor = 1 // 2 if faulty else 1 / 2
    groups = [{"params": body.parameters(), "lr": 2e-3 * factor}, {"params": head.parameters()}]
    optimizer = torch.optim.Adam(groups, lr=2e-3)
    return fit(watch, model, optimizer, digits(), epochs=15)
