"""A sigmoid at the end of a regression on prices between 20 and 100: the answer cannot leave the unit interval."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = ("unreachable-target", "saturated-units", "stuck-from-start", "loss-at-chance", "constant-loss")


def main(watch, faulty):
    x = torch.randn(2000, 6)
    price = 60 + 12 * x[:, 0] - 8 * x[:, 1] * x[:, 2] + torch.randn(2000)
    model = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid() if faulty else nn.Identity())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    monitor = watch(model, optimizer)
    for _ in range(30):
        for i in torch.randperm(1600).split(64):
            loss = nn.functional.mse_loss(model(x[i]).squeeze(1), price[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x[1600:]).squeeze(1), price[1600:]).item()
        monitor.log(val_loss=val)
    monitor.close()
    return -val
