"""float16 autocast without a GradScaler and a loss divided by a large constant: gradients underflow to zero."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "precision"
EXPECTS = (
    "vanishing-gradient",
    "silent-parameter",
    "dead-layer",
    "faded-gradient",
    "undersized-update",
    "stuck-from-start",
    "unmoved-parameter",
)


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=2e4, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", enabled=not faulty)
    with watch(model, optimizer) as monitor:
        for _ in range(10):
            for i in torch.randperm(len(x)).split(64):
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = F.cross_entropy(model(x[i]), y[i]) * 2e-6
                optimizer.zero_grad()
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
