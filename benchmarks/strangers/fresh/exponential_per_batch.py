"""ExponentialLR(gamma=0.95), meant for epochs, stepped after every batch: the rate is gone after two epochs."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("scheduler-per-batch", "vanished-learning-rate", "schedule-ended-early", "undersized-update")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.Flatten(), nn.Linear(512, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.95)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for idx in torch.randperm(len(x)).split(32):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                optimizer.step()
                if faulty:
                    scheduler.step()
            if not faulty:
                scheduler.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
