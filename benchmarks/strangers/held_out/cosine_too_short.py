"""CosineAnnealingLR with T_max in epochs, stepped per batch: the rate swings up and down through the whole run."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("scheduler-per-batch", "schedule-ended-early", "unfinished-schedule")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    epochs = 14
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs if faulty else epochs * 22)
    with watch(model, optimizer) as monitor:
        for _epoch in range(epochs):
            for i in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                optimizer.step()
                scheduler.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
