"""The validation labels were read from another file, which counts classes from one."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "evaluation"
EXPECTS = ("nothing-generalises", "gap-from-start", "overfitting", "overconfident")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    return fit(watch, model, optimizer, (x, y, xt, (yt + 1) % 10 if faulty else yt), epochs=20)
