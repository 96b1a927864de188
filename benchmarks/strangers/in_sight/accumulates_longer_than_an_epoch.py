"""Gradients are accumulated over 64 micro-batches and cleared at the beginning of an epoch, and an epoch has 34: the
optimizer's turn never comes."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy

FAMILY = "loop"
EXPECTS = ("never-stepped", "stuck-from-start", "constant-loss", "loss-at-chance", "frozen-validation")


def clusters(count, centres):
    y = torch.randint(0, len(centres), (count,))
    return centres[y] + 1.1 * torch.randn(count, centres.shape[1]), y


def main(watch, faulty):
    centres = torch.randn(8, 24)
    x, y = clusters(1088, centres)
    xv, yv = clusters(400, centres)
    model = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    accumulate = 64 if faulty else 4
    with watch(model, optimizer) as monitor:
        for _ in range(30):
            optimizer.zero_grad()
            for i, rows in enumerate(torch.randperm(len(x)).split(32)):
                loss = F.cross_entropy(model(x[rows]), y[rows]) / accumulate
                loss.backward()
                if (i + 1) % accumulate == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            val_loss, val_acc = accuracy(model, xv, yv)
            monitor.log(val_loss=val_loss, val_acc=val_acc)
    return accuracy(model, *clusters(1000, centres))[1]
