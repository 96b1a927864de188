"""(N, 1) against (N,) in a hand-written squared error: every prediction against every target."""

import torch
from torch import nn

FAMILY = "tabular"
EXPECTS = ("broadcast-loss", "loss-at-chance", "stuck-from-start", "underfitting")


def main(watch, faulty):
    x = torch.randn(1500, 5)
    y = 2 * x[:, 0] - x[:, 1] ** 2 + 0.1 * torch.randn(1500)
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    monitor = watch(model, opt)
    for _ in range(20):
        for i in torch.randperm(1200).split(40):
            out = model(x[i]) if faulty else model(x[i]).squeeze(1)
            loss = ((out - y[i]) ** 2).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            val = ((model(x[1200:]).squeeze(1) - y[1200:]) ** 2).mean().item()
        monitor.log(val_loss=val)
    monitor.close()
    return -val
