"""OneCycleLR built for every step and stepped once per epoch: it stays at a twenty-fifth of the peak."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("endless-warmup", "unfinished-schedule", "undersized-update", "frozen-learning-rate")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(144, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    epochs, per_epoch = 12, 22
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.3, total_steps=epochs * per_epoch + 1)
    monitor = watch(model, optimizer)
    for _epoch in range(epochs):
        for i in torch.randperm(len(x)).split(64):
            loss = F.cross_entropy(model(x[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            None if faulty else scheduler.step()
        scheduler.step() if faulty else None
        loss, acc = accuracy(model, xt, yt)
        monitor.log(val_loss=loss, val_acc=acc)
    monitor.close()
    return acc
