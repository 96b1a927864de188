"""Sharpness-aware minimisation that climbs to the worst neighbour and steps from there, and forgets to come back first:
every update goes uphill by rho."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "optimizer"
EXPECTS = (
    "weight-jump",
    "stalled-loss",
    "oscillating-loss",
    "diverging-loss",
    "underfitting",
    "runaway-weights",
    "noisy-loss",
)


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    rho = 0.25
    with watch(model, optimizer) as monitor:
        for _ in range(25):
            model.train()
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                with torch.no_grad():
                    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
                    climbs = [rho * p.grad / (norm + 1e-12) for p in model.parameters()]
                    for p, climb in zip(model.parameters(), climbs, strict=True):
                        p.add_(climb)
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                if not faulty:
                    with torch.no_grad():
                        for p, climb in zip(model.parameters(), climbs, strict=True):
                            p.sub_(climb)
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
