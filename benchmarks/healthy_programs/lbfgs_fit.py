"""LBFGS with a closure, as in PyTorch's time-sequence example, on a sine fit."""

import torch
from torch import nn


def main(watch):
    x = torch.linspace(-3, 3, 200)[:, None]
    y = torch.sin(2 * x) + 0.3 * x
    seq = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=10)
    monitor = watch(seq, optimizer)
    for i in range(40):

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(x), y)
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            test = criterion(seq(x[::7]), y[::7]).item()
        if i % 4 == 0:
            monitor.log(test_mse=test)
    monitor.close()
    assert test < 0.05
