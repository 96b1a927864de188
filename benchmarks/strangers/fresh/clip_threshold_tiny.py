"""clip_grad_norm_ at 0.001 under SGD: every step is clipped to almost nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "optimizer"
EXPECTS = ("gradient-always-clipped", "undersized-update", "stuck-from-start", "loss-at-chance")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Linear(144, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for _ in range(15):
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 0.001 if faulty else 5.0)
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
