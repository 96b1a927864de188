"""Low-rank adapters around a frozen net, both factors initialised with zeros: each is the other's gradient, so neither
ever moves."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "fine-tuning"
EXPECTS = (
    "dead-layer",
    "silent-parameter",
    "symmetric-units",
    "stuck-from-start",
    "stalled-loss",
    "underfitting",
    "frozen-validation",
)


class LoRA(nn.Module):
    def __init__(self, layer, faulty, rank=8):
        super().__init__()
        self.layer = layer.requires_grad_(False)
        self.down = nn.Parameter(torch.zeros(rank, layer.in_features))
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))
        if not faulty:
            nn.init.kaiming_uniform_(self.down, a=5**0.5)

    def forward(self, x):
        return self.layer(x) + 2 * x @ self.down.T @ self.up.T


def pretrained(x, y):
    """A net that was trained on other pictures: the same digits upside down."""
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(15):
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(net(x[idx]), y[idx]).backward()
            optimizer.step()
    return net


def main(watch, faulty):
    x, y, xt, yt = digits()
    net = pretrained(x.flip(1), y)
    for i in (0, 2, 4):
        net[i] = LoRA(net[i], faulty)
    optimizer = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=2e-3)
    with watch(net, optimizer) as monitor:
        for _ in range(15):
            net.train()
            for idx in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(net(x[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss, acc = accuracy(net, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
