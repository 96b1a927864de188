"""An augmentation that permutes the pixels, the same way for all, in training only."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "evaluation"
EXPECTS = ("gap-from-start", "nothing-generalises", "overfitting", "inputs-differ", "overconfident")


def main(watch, faulty):
    x, y, xt, yt = digits()
    order = torch.randperm(64)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for idx in torch.randperm(len(x)).split(64):
                inputs = x[idx][:, order] if faulty else x[idx]
                optimizer.zero_grad()
                F.cross_entropy(model(inputs), y[idx]).backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
