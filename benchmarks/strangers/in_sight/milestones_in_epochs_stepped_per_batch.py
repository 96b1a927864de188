"""MultiStepLR with milestones at epochs 10, 20 and 25, stepped after every batch: over within the first epoch."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "schedule"
EXPECTS = ("scheduler-per-batch", "vanished-learning-rate", "schedule-ended-early", "stalled-loss", "underfitting")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(128, 10),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(opt, milestones=[10, 20, 25], gamma=0.1)
    with watch(net, opt) as monitor:
        for _ in range(30):
            for i in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(net(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                if faulty:
                    scheduler.step()
            if not faulty:
                scheduler.step()
            val, acc = accuracy(net, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
