"""Ten layers, each drawn from a normal distribution with a spread of 0.01, as in a tutorial with two layers."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "initialisation"
EXPECTS = (
    "vanishing-gradient",
    "collapsed-activations",
    "stuck-from-start",
    "loss-at-chance",
    "constant-loss",
    "faded-gradient",
    "stalled-loss",
    "underfitting",
    "dead-layer",
)


def init(module, faulty):
    if isinstance(module, nn.Linear):
        if faulty:
            nn.init.normal_(module.weight, std=0.01)
        else:
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.zeros_(module.bias)


def energy(count):
    """Angles of a chain of three joints, and how far its end is from the wall."""
    angles = torch.randn(count, 3)
    x = angles.cumsum(1)
    return torch.cat([angles.sin(), angles.cos()], 1), x.cos().sum(1) + 0.5 * x.sin().sum(1)


def main(watch, faulty):
    x, y = energy(4000)
    xv, yv = energy(1000)
    layers = [nn.Linear(6, 64), nn.ReLU()]
    for _ in range(8):
        layers += [nn.Linear(64, 64), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(64, 1))
    model.apply(lambda module: init(module, faulty))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            for rows in torch.randperm(len(x)).split(100):
                optimizer.zero_grad()
                loss = F.mse_loss(model(x[rows]).squeeze(-1), y[rows])
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                monitor.log(val_mse=F.mse_loss(model(xv).squeeze(-1), yv).item(), epoch=epoch)
    xt, yt = energy(2000)
    with torch.no_grad():
        return 1 - (F.mse_loss(model(xt).squeeze(-1), yt) / yt.var()).item()
