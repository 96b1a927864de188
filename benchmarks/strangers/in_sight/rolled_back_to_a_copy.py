"""When validation gets worse, the loop goes back to a copy of the best model; the optimizer keeps stepping the
old one."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("stale-optimizer", "step-without-gradient", "frozen-validation", "stalled-loss", "constant-loss")


def friedman(n):
    x = torch.rand(n, 10)
    y = 10 * (4 * torch.pi * x[:, 0] * x[:, 1]).sin() + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x * 2 - 1, (y - y.mean()) / y.std() + 0.1 * torch.randn(n)


def main(watch, faulty):
    x, y = friedman(2600)
    loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=40, shuffle=True)
    model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    monitor = watch(model, optimizer)
    best, best_model = float("inf"), copy.deepcopy(model)
    for epoch in range(20):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.mse_loss(model(xb).squeeze(1), yb)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(x[2000:]).squeeze(1), y[2000:]).item()
        monitor.log(val_loss=val, epoch=epoch)
        if val < best:
            best, best_model = val, copy.deepcopy(model)
        elif epoch < 16:
            if faulty:
                model = copy.deepcopy(best_model)
            else:
                model.load_state_dict(best_model.state_dict())
            for group in optimizer.param_groups:
                group["lr"] *= 0.7
    monitor.close()
    return -val
