"""The calls of the loop in the wrong order: the gradients are cleared between backward and step."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "time series"
EXPECTS = ("step-without-gradient", "stuck-from-start", "frozen-validation", "never-stepped")


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=4, dilation=2), nn.ReLU()
        )
        self.out = nn.Linear(16, 6)

    def forward(self, x):
        return self.out(self.conv(x[:, None])[:, :, -1])


def demand(n):
    t = torch.arange(n).float()
    return (2 * torch.pi * t / 24).sin() + 0.5 * (2 * torch.pi * t / 168).sin() + 0.2 * torch.randn(n)


def main(watch, faulty):
    windows = demand(2600).unfold(0, 36, 1)
    x, y = windows[:, :30], windows[:, 30:]
    loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=64, shuffle=True)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            for xb, yb in loader:
                loss = F.mse_loss(model(xb), yb)
                if faulty:
                    loss.backward()
                    optimizer.zero_grad()
                else:
                    optimizer.zero_grad()
                    loss.backward()
                optimizer.step()
            with torch.no_grad():
                val = F.mse_loss(model(x[2100:]), y[2100:]).item()
            monitor.log(val_loss=val, epoch=epoch)
    return -val
