"""Twelve sigmoid layers without normalisation: the front hardly gets a gradient."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "initialisation"
EXPECTS = ("vanishing-gradient", "loss-at-chance", "stuck-from-start", "collapsed-activations", "constant-loss")


def main(watch, faulty):
    kind = nn.Sigmoid if faulty else nn.ReLU
    layers = [nn.Linear(64, 64), kind()]
    for _ in range(10):
        layers += [nn.Linear(64, 64), kind()]
    model = nn.Sequential(*layers, nn.Linear(64, 10))
    for layer in model[::2]:
        nn.init.kaiming_normal_(layer.weight)
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=1e-3), digits(), epochs=12)
