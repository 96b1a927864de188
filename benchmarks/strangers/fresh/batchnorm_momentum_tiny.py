"""BatchNorm's momentum given as in another framework (0.9999 there is 0.0001 here): running statistics never arrive."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "evaluation"
EXPECTS = ("gap-from-start", "nothing-generalises", "erratic-validation", "stale-statistics", "overconfident")


def main(watch, faulty):
    momentum = 1e-4 if faulty else 0.1
    x, y, xt, yt = digits(flat=False)
    data = (40 * x + 5, y, 40 * xt + 5, yt)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16, momentum=momentum), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, stride=2), nn.BatchNorm2d(32, momentum=momentum), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return fit(watch, model, optimizer, data, epochs=10)
