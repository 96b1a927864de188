"""BatchNorm trained on one picture at a time: statistics of a single sample, useless running averages in evaluation."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv net"
EXPECTS = (
    "single-sample-batchnorm",
    "gap-from-start",
    "erratic-validation",
    "nothing-generalises",
    "noisy-loss",
    "collapsed-activations",
)


def main(watch, faulty):
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10),
    )  # fmt: skip
    x, y, xt, yt = digits(flat=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(
        watch, model, optimizer, (x[:800], y[:800], xt, yt), epochs=2 if faulty else 24, batch=1 if faulty else 32
    )
