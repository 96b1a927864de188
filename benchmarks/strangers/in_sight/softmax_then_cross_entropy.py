"""A softmax at the end of the model and nn.CrossEntropyLoss after it."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv net"
EXPECTS = ("mismatched-loss", "stalled-loss")


def main(watch, faulty):
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    model = nn.Sequential(model, nn.Softmax(dim=-1)) if faulty else model
    return fit(watch, model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), digits(), epochs=12)
