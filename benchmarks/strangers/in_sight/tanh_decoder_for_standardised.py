"""An autoencoder whose decoder ends in a sigmoid, for inputs that are standardised (half of them negative)."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "generative"
EXPECTS = ("unreachable-target", "saturated-units", "underfitting", "stalled-loss")


def main(watch, faulty):
    x = digits()[0]
    x = (x - x.mean()) / x.std()
    last = nn.Sigmoid() if faulty else nn.Identity()
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16), nn.Linear(16, 128), nn.ReLU(), nn.Linear(128, 64), last
    )
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(20):
            for idx in torch.randperm(1200).split(50):
                loss = ((model(x[idx]) - x[idx]) ** 2).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = ((model(x[1200:]) - x[1200:]) ** 2).mean().item()
            monitor.log(val_loss=val)
    return -val
