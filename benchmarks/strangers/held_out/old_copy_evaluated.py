"""Evaluation uses a deep copy made before training (meant as an EMA that is never updated)."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loop"
EXPECTS = ("frozen-validation", "nothing-generalises", "gap-from-start")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    shadow = copy.deepcopy(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(14):
            for i in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                optimizer.step()
            loss, acc = accuracy(shadow if faulty else model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
