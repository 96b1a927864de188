"""Arrows that point left or right, with a random horizontal flip from a photo recipe: the flip changes the answer."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy

FAMILY = "conv net"
EXPECTS = ("loss-at-chance", "stuck-from-start", "underfitting", "nothing-generalises")


def arrows(n):
    left = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]]).float()
    x, y = 0.15 * torch.randn(n, 1, 12, 12), torch.randint(0, 2, (n,))
    for i in range(n):
        r, c = torch.randint(0, 8, (2,)).tolist()
        x[i, 0, r : r + 5, c : c + 5] += left.flip(1) if y[i] else left
    return x, y


def main(watch, faulty):
    x, y = arrows(1200)
    xt, yt = arrows(300)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 2),
    )
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    with watch(net, opt) as monitor:
        for _ in range(12):
            net.train()
            for i in torch.randperm(len(x)).split(40):
                batch = x[i]
                flip = torch.rand(len(i)) < 0.5
                axis = 3 if faulty else 2
                batch = torch.where(flip[:, None, None, None], batch.flip(axis), batch)
                loss = F.cross_entropy(net(batch), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(net, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
