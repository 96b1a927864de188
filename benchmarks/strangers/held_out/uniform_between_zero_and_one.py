"""Weights are drawn with torch.rand, between zero and one, so that every layer adds up all that it is given."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "initialisation"
EXPECTS = ("wrong-initial-loss", "exploding-gradient", "symmetric-units", "growing-activations", "stuck-from-start",
           "loss-at-chance", "dead-units", "collapsed-activations", "stalled-loss")  # fmt: skip


def init(module):
    if isinstance(module, nn.Linear):
        module.weight.data = torch.rand(module.weight.shape)
        module.bias.data.zero_()


def main(watch, faulty):
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    if faulty:
        model.apply(init)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(watch, model, optimizer, digits(), epochs=15)
