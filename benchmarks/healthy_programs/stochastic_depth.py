"""Residual blocks are left out at random, up to half of them at the top; at test all are there, scaled."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits


class DropPath(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or self.rate == 0:
            return x
        keep = (torch.rand(len(x), 1) >= self.rate).float()
        return x * keep / (1 - self.rate)


class Block(nn.Module):
    def __init__(self, width, rate):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.Linear(width, width))
        self.drop = DropPath(rate)

    def forward(self, x):
        return x + self.drop(self.ff(self.norm(x)))


def main(watch):
    x, y, xv, yv = digits()
    rates = torch.linspace(0, 0.5, 8).tolist()
    model = nn.Sequential(nn.Linear(64, 64), *[Block(64, r) for r in rates], nn.LayerNorm(64), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    epochs = 14
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, epochs=epochs, steps_per_epoch=28)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for rows in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
            loss, acc = accuracy(model, xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    assert acc > 0.93, acc
