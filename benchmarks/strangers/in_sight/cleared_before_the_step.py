"""zero_grad stands between backward and step."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loop"
EXPECTS = ("step-without-gradient", "unmoved-parameter", "silent-parameter", "stuck-from-start")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(10):
            for i in torch.randperm(len(x)).split(64):
                if not faulty:
                    optimizer.zero_grad()
                F.cross_entropy(model(x[i]), y[i]).backward()
                if faulty:
                    optimizer.zero_grad()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
