"""Features and targets come from two files that were sorted differently."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = ("nothing-generalises", "loss-at-chance", "overfitting", "gap-from-start", "underfitting", "stuck-from-start")


def main(watch, faulty):
    x = torch.randn(1500, 10)
    y = x[:, 0] + torch.sin(2 * x[:, 1]) + 0.5 * x[:, 2] * x[:, 3]
    y = y.sort().values if faulty else y
    model = nn.Sequential(nn.Linear(10, 100), nn.ReLU(), nn.Linear(100, 50), nn.ReLU(), nn.Linear(50, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    order = torch.randperm(1500)
    train, test = order[:1200], order[1200:]
    with watch(model, opt) as monitor:
        for _ in range(25):
            for i in train[torch.randperm(1200)].split(32):
                loss = nn.functional.mse_loss(model(x[i]).squeeze(-1), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = nn.functional.mse_loss(model(x[test]).squeeze(-1), y[test]).item()
            monitor.log(val_loss=val, val_r2=1 - val / y[test].var().item())
    return -val
