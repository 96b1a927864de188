"""Training pictures are read as RGB, validation pictures by another library as BGR; the colour decides the class."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy

FAMILY = "data pipeline"
EXPECTS = ("gap-from-start", "inputs-differ", "nothing-generalises", "overfitting", "overconfident",
           "misread-validation")  # fmt: skip


def fruit(n):
    y = torch.randint(0, 6, (n,))
    hue = torch.tensor(
        [[0.9, 0.2, 0.1], [0.9, 0.6, 0.2], [0.9, 0.8, 0.2], [0.4, 0.8, 0.2], [0.4, 0.2, 0.6], [0.3, 0.3, 0.8]]
    )
    x = 0.6 + 0.15 * torch.randn(n, 3, 16, 16)
    grid = torch.stack(torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij"))
    for i in range(n):
        centre, r = torch.rand(2) * 6 + 5, torch.rand(1) * 2 + 3
        disc = ((grid - centre[:, None, None]) ** 2).sum(0) < r**2
        x[i, :, disc] = hue[y[i], :, None] + 0.15 * torch.randn(3, int(disc.sum()))
    return x.clamp(0, 1), y


def main(watch, faulty):
    x, y = fruit(1200)
    xt, yt = fruit(300)
    xt = xt.flip(1) if faulty else xt
    x, xt = (x - 0.5) / 0.25, (xt - 0.5) / 0.25
    net = nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 6),
    )
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    with watch(net, opt) as monitor:
        for _ in range(10):
            net.train()
            for i in torch.randperm(len(x)).split(40):
                loss = F.cross_entropy(net(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(net, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
