"""One row in three hundred has an empty cell, read as NaN."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "data"
EXPECTS = ("nonfinite-input", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weights")


def main(watch, faulty):
    x = torch.randn(3000, 9)
    y = (x[:, :3].sum(1, keepdim=True)).tanh() + 0.05 * torch.randn(3000, 1)
    if faulty:
        x[torch.arange(150, 3000, 300), 4] = float("nan")
    model = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(10):
            for idx in torch.randperm(2700).split(30):
                optimizer.zero_grad()
                F.mse_loss(model(x[idx]), y[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                val = F.mse_loss(model(x[2700:].nan_to_num()), y[2700:]).item()
            monitor.log(val_loss=val)
    return -val
