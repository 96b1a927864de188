"""Weights averaged with a decay of 0.99999 and evaluated after five hundred steps: still the initial weights."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "evaluation"
EXPECTS = ("nothing-generalises", "frozen-validation", "gap-from-start", "erratic-validation")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    average = copy.deepcopy(model)
    decay = 0.99999 if faulty else 0.95
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for idx in torch.randperm(len(x)).split(56):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                optimizer.step()
                with torch.no_grad():
                    for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
                        slow.mul_(decay).add_(fast, alpha=1 - decay)
            loss, acc = accuracy(average, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
