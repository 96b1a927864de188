"""reduction="sum" over batches of 200 with the learning rate of a mean: steps two hundred times too long."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loss"
EXPECTS = (
    "oversized-update", "exploding-gradient", "diverging-loss", "nonfinite-loss", "dead-units", "loss-at-chance",
    "loss-spike", "oscillating-loss", "noisy-loss", "wrong-initial-loss", "stuck-from-start",
)  # fmt: skip


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    with watch(model, optimizer) as monitor:
        for _ in range(40):
            for idx in torch.randperm(len(x)).split(200):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx], reduction="sum" if faulty else "mean").backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
