"""model.eval() is missing: dropout and BatchNorm work in training mode during every evaluation."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "loop"
EXPECTS = ("evaluating-in-train-mode", "stochastic-evaluation")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.6), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for _epoch in range(12):
        model.train()
        for i in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(x[i]), y[i]).backward()
            optimizer.step()
        if not faulty:
            model.eval()
        with torch.no_grad():
            out = model(xt)
        acc = (out.argmax(1) == yt).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    monitor.close()
    return acc
