"""An L1 penalty over all weights, added up and not averaged: it is larger than the loss, and the weights go to zero."""

import torch
from torch import nn

FAMILY = "regularisation"
EXPECTS = (
    "shrinking-weights",
    "unbalanced-loss-parts",
    "decay-outweighs-gradient",
    "stalled-loss",
    "collapsed-activations",
    "loss-at-chance",
    "underfitting",
    "dead-units",
    "dead-layer",
    "frozen-validation",
)


def genes(count, effect):
    """Two hundred genes of which ten matter."""
    x = torch.randn(count, 200)
    y = (x[:, :10] @ effect + 0.7 * x[:, 0] * x[:, 1] + 0.5 * torch.randn(count)) > 0
    return x, y.float()


def main(watch, faulty):
    effect = torch.randn(10)
    x, y = genes(2000, effect)
    xv, yv = genes(500, effect)
    model = nn.Sequential(nn.Linear(200, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    bce = nn.BCEWithLogitsLoss()
    strength = 3e-2 if faulty else 3e-4
    with watch(model, optimizer) as monitor:
        for _ in range(14):
            for idx in torch.randperm(len(x)).split(64):
                penalty = sum(p.abs().sum() for name, p in model.named_parameters() if name.endswith("weight"))
                loss = bce(model(x[idx]).squeeze(1), y[idx]) + strength * penalty
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xv).squeeze(1)
            monitor.log(val_bce=bce(out, yv).item(), val_acc=((out > 0) == (yv > 0)).float().mean().item())
    xt, yt = genes(4000, effect)
    with torch.no_grad():
        return ((model(xt).squeeze(1) > 0) == (yt > 0)).float().mean().item()
