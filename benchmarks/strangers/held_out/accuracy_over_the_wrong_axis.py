"""Accuracy from argmax(dim=0) compared with the wrong labels: it stays near chance while the loss falls."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "loop"
EXPECTS = ("loss-without-accuracy", "metric-loss-disagreement", "nothing-generalises")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for _ in range(12):
        for i in torch.randperm(len(x)).split(50):
            optimizer.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            optimizer.step()
        with torch.no_grad():
            out = model(xt)
        truth = yt[torch.randperm(len(yt))] if faulty else yt
        acc = (out.argmax(1) == truth).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    monitor.close()
    return acc
