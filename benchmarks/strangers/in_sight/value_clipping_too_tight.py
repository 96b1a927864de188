"""clip_grad_value_ with 1e-4 and SGD: every element of every gradient is cut to the same tiny number."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loop"
EXPECTS = ("gradient-always-clipped", "undersized-update", "stuck-from-start", "loss-at-chance")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                nn.utils.clip_grad_value_(model.parameters(), 1e-4 if faulty else 1.0)
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
