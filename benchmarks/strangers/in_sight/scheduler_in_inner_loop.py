"""StepLR meant per epoch is stepped per batch: after two epochs the rate is 1e-12."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("scheduler-per-batch", "vanished-learning-rate", "undersized-update", "schedule-ended-early")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=8, gamma=0.1)
    with watch(model, optimizer) as monitor:
        for _epoch in range(16):
            for i in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                optimizer.step()
                scheduler.step() if faulty else None
            None if faulty else scheduler.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
