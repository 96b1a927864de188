"""Rprop, which trusts the sign of full gradients, is run on mini-batches of eight."""

import torch
from sklearn.datasets import make_friedman1
from torch import nn

FAMILY = "full-batch optimizer"
EXPECTS = ("noisy-loss", "oversized-update", "oscillating-loss", "diverging-loss", "erratic-validation", "stalled-loss")


def load(n_train=800):
    x, y = make_friedman1(1100, noise=0.6, random_state=2)
    x, y = torch.tensor(x, dtype=torch.float32) * 2 - 1, torch.tensor(y, dtype=torch.float32)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    y = (y - y[:n_train].mean()) / y[:n_train].std()
    return x[:n_train], y[:n_train, None], x[n_train:], y[n_train:, None]


def main(watch, faulty):
    x, y, xv, yv = load()
    model = nn.Sequential(nn.Linear(10, 10), nn.Tanh(), nn.Linear(10, 1))
    optimizer = torch.optim.Rprop(model.parameters(), lr=1e-3)
    size = 8 if faulty else len(x)
    steps, done = 700, 0
    mse = nn.MSELoss()
    monitor = watch(model, optimizer)
    while done < steps:
        for rows in torch.randperm(len(x)).split(size):
            optimizer.zero_grad()
            mse(model(x[rows]), y[rows]).backward()
            optimizer.step()
            done += 1
            if done % 25 == 0:
                with torch.no_grad():
                    val = mse(model(xv), yv).item()
                monitor.log(val_loss=val, val_r2=1 - val / yv.var().item())
    monitor.close()
    return 1 - val / yv.var().item()
