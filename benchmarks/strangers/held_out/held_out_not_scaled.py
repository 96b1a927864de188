"""House prices with columns of very different size: the scaler is applied to the training table and forgotten for the
validation table."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("inputs-differ", "gap-from-start", "nothing-generalises", "erratic-validation")


def houses(n, rng):
    area = rng.gamma(9, 12, n)
    rooms = np.round(area / 25 + rng.normal(0, 0.8, n)).clip(1)
    year = rng.integers(1900, 2020, n)
    distance = rng.exponential(8, n)
    income = rng.lognormal(10.5, 0.4, n)
    logprice = 0.6 * np.log(area) + 0.04 * rooms + 0.004 * (year - 1950) - 0.05 * distance + 0.5 * np.log(income)
    x = np.stack([area, rooms, year, distance, income], 1)
    return x.astype(np.float32), (logprice + rng.normal(0, 0.08, n)).astype(np.float32)


def main(watch, faulty):
    rng = np.random.default_rng(4)
    x, y = houses(3000, rng)
    y = (y - y.mean()) / y.std()
    xt, xv, yt, yv = x[:2400], x[2400:], torch.tensor(y[:2400]), torch.tensor(y[2400:])
    mean, std = xt.mean(0), xt.std(0)
    xt = torch.tensor((xt - mean) / std)
    xv = torch.tensor(xv if faulty else (xv - mean) / std)
    loader = DataLoader(TensorDataset(xt, yt), batch_size=64, shuffle=True)
    val_loader = DataLoader(TensorDataset(xv, yv), batch_size=300)
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(15):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.mse_loss(model(xb).squeeze(1), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = sum(F.mse_loss(model(xb).squeeze(1), yb).item() for xb, yb in val_loader) / len(val_loader)
        monitor.log(val_loss=val, epoch=epoch)
    monitor.close()
    return -val
