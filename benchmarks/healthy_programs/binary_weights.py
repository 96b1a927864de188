"""A network with weights of plus and minus one: straight-through sign, real-valued shadows kept between -1 and 1."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w):
        return torch.where(w >= 0, 1.0, -1.0)

    @staticmethod
    def backward(ctx, grad):
        return grad


class BinaryLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, Sign.apply(self.weight)) / self.in_features**0.5


def main(watch):
    x, y, xv, yv = digits()
    mean, std = x.mean(), x.std()
    x, xv = (x - mean) / std, (xv - mean) / std
    model = nn.Sequential(
        BinaryLinear(64, 256, bias=False),
        nn.BatchNorm1d(256),
        nn.Hardtanh(),
        BinaryLinear(256, 128, bias=False),
        nn.BatchNorm1d(128),
        nn.Hardtanh(),
        nn.Linear(128, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
    with watch(model, optimizer) as monitor:
        for epoch in range(20):
            model.train()
            for rows in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows], label_smoothing=0.05).backward()
                optimizer.step()
                with torch.no_grad():
                    for layer in model:
                        if isinstance(layer, BinaryLinear):
                            layer.weight.clamp_(-1, 1)
            schedule.step()
            loss, acc = accuracy(model, xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    assert acc > 0.92, acc
