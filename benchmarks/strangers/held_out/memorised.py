"""Sixty noisy examples, a wide net, two thousand steps, nothing against it (the twin has all the data)."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "conv net"
EXPECTS = ("overfitting", "overconfident", "gap-from-start")


def main(watch, faulty):
    x, y, xt, yt = digits()
    noisy = torch.where(torch.rand(len(y)) < 0.1, torch.randint(0, 10, y.shape), y)
    n = 80 if faulty else 1400
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3 if faulty else 2e-4)
    with watch(model, optimizer) as monitor:
        for step in range(400):
            i = torch.randint(0, n, (32,))
            optimizer.zero_grad()
            F.cross_entropy(model(x[i]), noisy[i]).backward()
            optimizer.step()
            if step % 20 == 19:
                loss, acc = accuracy(model, xt, yt)
                monitor.log(val_loss=loss, val_acc=acc)
    return acc
