"""SGD gets dampening=0.9 next to momentum=0.9, which makes every step ten times shorter."""

import torch
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "optimizer flags"
EXPECTS = ("undersized-update", "still-falling", "underfitting", "stalled-loss")


def make_net():
    return nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(12, 24, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(24 * 16, 10),
    )


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    net = make_net()
    options = {"lr": 0.03, "momentum": 0.9, "weight_decay": 1e-4}
    if faulty:
        options["dampening"] = 0.9
    sgd = torch.optim.SGD(net.parameters(), **options)
    epochs = 12
    total = epochs * (len(x) // 70)
    schedule = torch.optim.lr_scheduler.LambdaLR(sgd, lambda s: max(0.0, 1 - s / total))
    criterion = nn.CrossEntropyLoss()
    monitor = watch(net, sgd)
    for epoch in range(epochs):
        net.train()
        for rows in torch.randperm(len(x)).split(70):
            sgd.zero_grad()
            criterion(net(x[rows]), y[rows]).backward()
            sgd.step()
            schedule.step()
        loss, acc = accuracy(net, xt, yt)
        monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    monitor.close()
    return acc
