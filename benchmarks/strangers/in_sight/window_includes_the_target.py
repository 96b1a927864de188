"""A forecast whose input window is one too long: its last value is the one to be forecast."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import series

FAMILY = "time series"
EXPECTS = ("leaked-answer", "suspiciously-perfect")
L = 24


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(L, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.body(x).squeeze(-1)


def main(watch, faulty):
    s = series()
    x = s.unfold(0, L, 1)
    honest, y = x[:-1], s[L:]
    given = x[1:] if faulty else honest
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(20):
            for i in torch.randperm(2400).split(32):
                loss = F.mse_loss(model(given[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                monitor.log(val_loss=F.mse_loss(model(given[2400:]), y[2400:]).item())
    with torch.no_grad():
        return -F.mse_loss(model(honest[2400:]), y[2400:]).item()
