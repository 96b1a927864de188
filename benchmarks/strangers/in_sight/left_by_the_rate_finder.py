"""The learning-rate range test ran on the model itself and the weights were not put back: training starts from what
a rate of ten left over."""

import copy
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman1
from torch import nn

FAMILY = "learning rate"
EXPECTS = ("dead-units", "wrong-initial-loss", "dead-layer", "stalled-loss", "collapsed-activations", "underfitting")


def range_test(model, x, y, start=1e-5, end=10.0, steps=100, restore=True):
    before = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=start, momentum=0.9)
    history = []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = start * (end / start) ** (step / (steps - 1))
        idx = torch.randint(0, len(x), (64,))
        loss = F.smooth_l1_loss(model(x[idx]).squeeze(1), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append((optimizer.param_groups[0]["lr"], loss.item()))
    if restore:
        model.load_state_dict(before)
    good = [(lr, loss) for lr, loss in history if math.isfinite(loss)]
    best = min(good, key=lambda p: p[1])[0]
    return min(max(best / 10, 5e-3), 2e-2)


def main(watch, faulty):
    x, y = make_friedman1(4500, 10, noise=1.0)
    x, y = torch.tensor(x, dtype=torch.float32) * 3.46 - 1.73, torch.tensor(y, dtype=torch.float32)
    y = (y - y.mean()) / y.std()
    x, xv, y, yv = x[:4000], x[4000:], y[:4000], y[4000:]
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    lr = range_test(model, x, y, restore=not faulty)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    epochs = 15
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                loss = F.smooth_l1_loss(model(x[idx]).squeeze(1), y[idx])
                loss.backward()
                optimizer.step()
            scheduler.step()
            with torch.no_grad():
                pred = model(xv).squeeze(1)
            monitor.log(
                epoch=epoch, val_loss=F.smooth_l1_loss(pred, yv).item(), val_mae=(pred - yv).abs().mean().item()
            )
    return 1 - F.mse_loss(pred, yv).item() / yv.var().item()
