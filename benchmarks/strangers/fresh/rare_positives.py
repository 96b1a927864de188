"""Two positives in a hundred and no weighting: 98 % accuracy from the first epoch, and not one positive found."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tabular"
EXPECTS = ("lopsided-labels", "loss-without-accuracy", "loss-at-chance", "metric-loss-disagreement", "underfitting")


def make(n, balanced):
    x = torch.randn(n, 16)
    score = x[:, 0] + 0.8 * x[:, 1] * x[:, 2] + 0.9 * torch.randn(n)
    edge = score.quantile(0.5 if balanced else 0.98)
    return x, (score > edge).float()


def main(watch, faulty):
    x, y = make(3000, not faulty)
    xv, yv = make(800, not faulty)
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    with watch(model, optimizer) as monitor:
        for _ in range(25):
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.binary_cross_entropy_with_logits(model(x[idx]).squeeze(1), y[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xv).squeeze(1)
            found = ((out > 0) & (yv > 0)).sum().item() / yv.sum().item()
            acc = ((out > 0) == (yv > 0)).float().mean().item()
            loss = F.binary_cross_entropy_with_logits(out, yv).item()
            monitor.log(val_loss=loss, val_accuracy=acc, val_recall=found)
    return found
