"""Resumed from a checkpoint that holds the model only: the rate starts at its peak again."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("learning-rate-leap", "loss-spike", "late-overshoot", "unfinished-schedule")


def train(monitor, model, optimizer, scheduler, data, epochs):
    x, y, xt, yt = data
    for _ in range(epochs):
        for i in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            optimizer.step()
        scheduler.step()
        loss, acc = accuracy(model, xt, yt)
        monitor.log(val_loss=loss, val_acc=acc)
    return acc


def main(watch, faulty):
    data = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=16)
    first = watch(model, optimizer)
    train(first, model, optimizer, scheduler, data, 12)
    first.close()
    state = scheduler.state_dict()
    again = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(again, T_max=16)
    if not faulty:
        again.load_state_dict(optimizer.state_dict())
        scheduler.load_state_dict(state)
    second = watch(model, again, resume=first.run_dir)
    acc = train(second, model, again, scheduler, data, 4)
    second.close()
    return acc
