"""A ReLU left after the last layer of a regression whose targets are as often negative as positive."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tabular"
EXPECTS = ("unreachable-target", "underfitting", "stalled-loss", "dead-units")


def main(watch, faulty):
    x = torch.randn(2400, 10)
    y = (x[:, :1] * x[:, 1:2] + x[:, 2:3]) + 0.1 * torch.randn(2400, 1)
    layers = [nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)]
    model = nn.Sequential(*layers, *([nn.ReLU()] if faulty else []))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(30):
            for idx in torch.randperm(2000).split(64):
                optimizer.zero_grad()
                F.mse_loss(model(x[idx]), y[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                val = F.mse_loss(model(x[2000:]), y[2000:]).item()
            monitor.log(val_loss=val)
    return -val
