"""One of the feature columns is the target in other units (a price and its logarithm)."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = ("leaked-answer", "suspiciously-perfect")


def main(watch, faulty):
    x = torch.randn(2500, 12)
    price = (0.5 * x[:, 0] - 0.3 * x[:, 1] * x[:, 2] + torch.randn(2500)).exp()
    target = price.log()
    x[:, 7] = (price * 3 + 1 if faulty else torch.randn(2500)) / 4
    model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    monitor = watch(model, opt)
    for _ in range(15):
        for i in torch.randperm(2000).split(64):
            loss = nn.functional.l1_loss(model(x[i])[:, 0], target[i])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            mae = nn.functional.l1_loss(model(x[2000:])[:, 0], target[2000:]).item()
        monitor.log(val_loss=mae)
    monitor.close()
    return mae  # lower here means that the leak was used: a better score is the fault's symptom
