"""A regression net built by a helper that puts a ReLU behind every layer, the last one too; half of the standardised
targets are below zero."""

import itertools

import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "time series"
EXPECTS = ("unreachable-target", "dead-units", "underfitting", "dead-layer", "stalled-loss")


def mlp(sizes, last_relu):
    layers = []
    for i, o in itertools.pairwise(sizes):
        layers += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*(layers if last_relu else layers[:-1]))


def sensor(n):
    t = torch.arange(n).float()
    base = torch.tensor(load_diabetes().data[:, 2] * 20, dtype=torch.float32)
    slow = F.interpolate(base[None, None, :60], size=n, mode="linear").squeeze()
    y = (t / 6).sin() + 0.6 * slow + 0.1 * torch.randn(n)
    return (y - y.mean()) / y.std()


def main(watch, faulty):
    windows = sensor(3000).unfold(0, 25, 1)
    x, y = windows[:, :24], windows[:, 24]
    loader = DataLoader(TensorDataset(x[:2300], y[:2300]), batch_size=50, shuffle=True)
    model = mlp([24, 48, 24, 1], last_relu=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        for xb, yb in loader:
            loss = F.mse_loss(model(xb).squeeze(1), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = F.mse_loss(model(x[2400:]).squeeze(1), y[2400:]).item()
        monitor.log(val_loss=val, epoch=epoch)
    monitor.close()
    return -val
