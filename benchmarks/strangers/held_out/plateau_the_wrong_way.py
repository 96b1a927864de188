"""ReduceLROnPlateau with mode="max" fed with the loss: every improvement is a plateau, and the rate collapses."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("vanished-learning-rate", "schedule-ended-early", "undersized-update", "stalled-loss")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max" if faulty else "min", patience=0)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for i in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            plateau.step(loss)
            monitor.log(val_loss=loss, val_acc=acc)
    return -loss
