"""Regression targets around five thousand, not scaled, with a Huber loss: every gradient is one, progress crawls."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tabular"
EXPECTS = (
    "unscaled-target", "unreachable-target", "undersized-update", "stuck-from-start", "still-falling", "underfitting",
    "loss-at-chance", "extreme-target",
)  # fmt: skip


def main(watch, faulty):
    x = torch.randn(1800, 12)
    y = 5000.0 + 800.0 * (x @ torch.randn(12, 1) / 12**0.5)
    if not faulty:
        y = (y - y.mean()) / y.std()
    model = nn.Sequential(nn.Linear(12, 48), nn.Tanh(), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(25):
            for idx in torch.randperm(1500).split(50):
                optimizer.zero_grad()
                F.huber_loss(model(x[idx]), y[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                val = F.huber_loss(model(x[1500:]), y[1500:]).item()
            monitor.log(val_loss=val)
    return -val
