"""House prices in dollars, a small rate: after the whole run the answers are still near zero."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = (
    "stuck-from-start",
    "undersized-update",
    "loss-at-chance",
    "underfitting",
    "unreachable-target",
    "wrong-initial-loss",
)


def main(watch, faulty):
    x = torch.randn(2000, 8)
    price = 250_000 + 60_000 * x[:, 0] + 30_000 * x[:, 1] * x[:, 2] + 5_000 * torch.randn(2000)
    y = price if faulty else (price - price.mean()) / price.std()
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for _ in range(20):
        for i in torch.randperm(1600).split(64):
            loss = nn.functional.mse_loss(model(x[i]).squeeze(-1), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x[1600:]).squeeze(-1), y[1600:]).item()
        monitor.log(val_loss=val)
    monitor.close()
    return 1 - val / y[1600:].var().item()
