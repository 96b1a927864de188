"""Dropout stands behind the last layer of a regression: half of all answers are set to zero while training."""

import torch
from sklearn.datasets import make_friedman1
from torch import nn

FAMILY = "dropout in the wrong place"
EXPECTS = ("heavy-dropout", "stalled-loss", "validation-below-training", "underfitting")


def mlp(d, widths, p, faulty):
    layers = []
    for width in widths:
        layers += [nn.Linear(d, width), nn.ReLU(), nn.Dropout(p)]
        d = width
    layers.append(nn.Linear(d, 1))
    if faulty:
        layers.append(nn.Dropout(0.5))
    return nn.Sequential(*layers)


def main(watch, faulty):
    x, y = make_friedman1(2400, noise=0.5, random_state=1)
    x, y = torch.tensor(x, dtype=torch.float32) * 2 - 1, torch.tensor(y, dtype=torch.float32)[:, None] / 10
    perm = torch.randperm(len(x))
    train, val = perm[:1900], perm[1900:]
    model = mlp(10, [96, 96], 0.03, faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    epochs = 30
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    criterion = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for rows in train[torch.randperm(len(train))].split(64):
                optimizer.zero_grad()
                criterion(model(x[rows]), y[rows]).backward()
                optimizer.step()
            sched.step()
            model.eval()
            with torch.no_grad():
                loss = criterion(model(x[val]), y[val]).item()
            monitor.log(epoch=epoch, val_loss=loss)
    return 1 - loss / y[val].var().item()
