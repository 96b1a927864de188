"""A deep equilibrium layer: iterate to a fixed point without gradient, then one more step with it."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from strangers.common import accuracy, digits


class Equilibrium(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.recur = spectral_norm(nn.Linear(width, width, bias=False))
        self.norm = nn.LayerNorm(width)

    def step(self, z, x):
        return torch.tanh(0.9 * self.recur(z) + x)

    def forward(self, x):
        x = self.norm(x)
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(12):
                z = self.step(z, x)
        for _ in range(3):
            z = self.step(z, x)
        return z


def main(watch):
    x, y, xv, yv = digits()
    net = nn.Sequential(nn.Linear(64, 64), Equilibrium(64), nn.Linear(64, 10))
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.05)
    epochs = 12
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs=epochs, steps_per_epoch=28)
    with watch(net, optimizer) as monitor:
        for epoch in range(epochs):
            net.train()
            for rows in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x[rows]), y[rows])
                loss.backward()
                optimizer.step()
                schedule.step()
            val, acc = accuracy(net, xv, yv)
            monitor.log(epoch=epoch, train_loss=loss.item(), val_loss=val, val_acc=acc)
    assert acc > 0.92, acc
