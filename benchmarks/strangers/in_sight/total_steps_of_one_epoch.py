"""A linear decay to zero over len(loader) steps; the number of epochs was forgotten in the product."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "schedule"
EXPECTS = ("schedule-ended-early", "vanished-learning-rate", "scheduler-per-batch", "stalled-loss", "underfitting")


def main(watch, faulty):
    x = torch.rand(1600, 8)
    y = 3 * x[:, 0] * x[:, 1] + torch.sin(6 * x[:, 2]) + x[:, 3] ** 2
    y = (y - y.mean()) / y.std()
    loader = DataLoader(TensorDataset(x[:1280], y[:1280]), batch_size=32, shuffle=True)
    net = nn.Sequential(nn.Linear(8, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    epochs = 20
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    total = len(loader) if faulty else len(loader) * epochs
    scheduler = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0.0, 1 - s / total))
    with watch(net, opt) as monitor:
        for _ in range(epochs):
            for xb, yb in loader:
                loss = F.mse_loss(net(xb).squeeze(-1), yb)
                opt.zero_grad()
                loss.backward()
                opt.step()
                scheduler.step()
            with torch.no_grad():
                val = F.mse_loss(net(x[1280:]).squeeze(-1), y[1280:]).item()
            monitor.log(val_loss=val)
    return -val
