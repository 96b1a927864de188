"""Weights stored in half precision after every step while the rate is small: most steps are rounded away."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "precision"
EXPECTS = ("swallowed-updates", "undersized-update", "stalled-loss", "unmoved-parameter", "underfitting")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=2e-3, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for _ in range(30):
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                optimizer.step()
                if faulty:
                    with torch.no_grad():
                        for p in model.parameters():
                            p.copy_(p.to(torch.bfloat16))
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
