"""A run that was interrupted and resumed: the weights come back, optimizer and schedule begin anew at the full rate and
the run ends long before the schedule does."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("learning-rate-leap", "unfinished-schedule", "lost-progress", "oscillating-loss", "noisy-loss")
EPOCHS = 14


def build(steps):
    model = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: max(0.0, 0.5 * (1 + math.cos(math.pi * min(s, steps) / steps)))
    )
    return model, optimizer, scheduler


def run_epochs(model, optimizer, scheduler, loader, val, monitor, epochs):
    xv, yv = val
    for epoch in epochs:
        for x, y in loader:
            optimizer.zero_grad()
            F.mse_loss(model(x).squeeze(1), y).backward()
            optimizer.step()
            scheduler.step()
        with torch.no_grad():
            loss = F.mse_loss(model(xv).squeeze(1), yv).item()
        monitor.log(val_loss=loss, epoch=epoch)
    return loss


def demand(n):
    """What is bought depends on price, weather and the like, and on a good deal of chance."""
    x = torch.randn(n, 6)
    y = x[:, 0] * x[:, 1] + (2 * x[:, 2]).sin() + 0.5 * x[:, 3].abs()
    return x, (y - y.mean()) / y.std()


def main(watch, faulty):
    x, y = demand(4000)
    loader = DataLoader(TensorDataset(x, y + 0.6 * torch.randn(4000)), batch_size=20, shuffle=True)
    val, steps = demand(1000), EPOCHS * len(loader)

    model, optimizer, scheduler = build(steps)
    first = watch(model, optimizer)
    run_epochs(model, optimizer, scheduler, loader, val, first, range(10))
    checkpoint = {"model": model.state_dict(), "opt": optimizer.state_dict(), "sched": scheduler.state_dict()}
    first.close()

    model, optimizer, scheduler = build(steps)  # the second process
    model.load_state_dict(checkpoint["model"])
    if not faulty:
        optimizer.load_state_dict(checkpoint["opt"])
        scheduler.load_state_dict(checkpoint["sched"])
    second = watch(model, optimizer, resume=first.run_dir)
    loss = run_epochs(model, optimizer, scheduler, loader, val, second, range(10, EPOCHS))
    second.close()
    return -loss
