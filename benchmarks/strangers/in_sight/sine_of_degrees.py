"""Compass bearings are put through sin and cos without being turned into radians first."""

import math

import torch
from torch import nn

FAMILY = "geographic features"
EXPECTS = ("loss-at-chance", "stuck-from-start", "nothing-generalises", "stalled-loss", "underfitting", "overfitting")


class WindExposure(nn.Module):
    def __init__(self, n_in, hidden=64):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_in, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(-1)


def measure(n):
    bearing = torch.rand(n) * 360
    slope_deg = 30 + 10 * torch.randn(n)
    height = torch.randn(n)
    rad = bearing * math.pi / 180
    west = torch.cos(rad - math.pi * 1.4)
    y = 1.5 * west + 0.6 * torch.relu(west) * height + 0.3 * torch.sin(2 * rad) + 0.15 * torch.randn(n)
    return bearing, (slope_deg - 30) / 10, height, y


def main(watch, faulty):
    bearing, slope, height, y = measure(3000)
    angle = bearing if faulty else torch.deg2rad(bearing)
    x = torch.stack([torch.sin(angle), torch.cos(angle), slope, height], 1)
    x_train, y_train, x_val, y_val = x[:2200], y[:2200], x[2200:], y[2200:]
    model = WindExposure(x.shape[1])
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=1e-3)
    epochs = 30
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    criterion = nn.MSELoss()
    with watch(model, opt) as monitor:
        for epoch in range(epochs):
            model.train()
            for idx in torch.randperm(len(x_train)).split(64):
                opt.zero_grad()
                loss = criterion(model(x_train[idx]), y_train[idx])
                loss.backward()
                opt.step()
            sched.step()
            model.eval()
            with torch.no_grad():
                val = criterion(model(x_val), y_val).item()
            r2 = 1 - val / y_val.var().item()
            monitor.log(epoch=epoch, val_loss=val, val_r2=r2)
    return r2
