"""Pinball loss for five quantiles at once, cyclical momentum off, evaluated by coverage."""

import torch
from torch import nn

QUANTILES = torch.tensor([0.05, 0.25, 0.5, 0.75, 0.95])


def pinball(prediction, y):
    e = y - prediction
    return torch.maximum(QUANTILES * e, (QUANTILES - 1) * e).mean()


def main(watch):
    X = 6 * torch.rand(3000, 1) - 3
    y = X.sin() + (0.1 + 0.2 * X.abs()) * torch.randn(3000, 1)
    model = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        for i in torch.randperm(2500).split(50):
            loss = pinball(model(X[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = model(X[2500:])
            coverage = ((y[2500:] > out[:, :1]) & (y[2500:] < out[:, -1:])).float().mean().item()
        monitor.log(val_pinball=pinball(out, y[2500:]).item(), coverage_90=coverage, epoch=epoch)
    monitor.close()
    assert 0.8 < coverage < 0.98
