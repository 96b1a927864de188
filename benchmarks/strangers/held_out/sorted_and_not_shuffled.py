"""The data set is sorted by class and the loader does not shuffle: every batch holds one class."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import accuracy, digits

FAMILY = "data pipeline"
EXPECTS = (
    "lopsided-labels",
    "epoch-boundary-jump",
    "oscillating-loss",
    "erratic-validation",
    "noisy-loss",
    "repeated-batches",
)


def main(watch, faulty):
    x, y, xt, yt = digits()
    order = y.argsort()
    loader = DataLoader(TensorDataset(x[order], y[order]), batch_size=32, shuffle=not faulty)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for xb, yb in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(xb), yb).backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
