"""A ResNet whose every weight is drawn with a spread of one: the scores begin in the thousands."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "initialisation"
EXPECTS = ("wrong-initial-loss", "growing-activations", "oversized-update", "exploding-gradient", "undersized-update")


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

    def forward(self, x):
        return F.relu(x + self.b(F.relu(self.a(x))))


def main(watch, faulty):
    x, y, _, _ = digits(flat=False)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        Block(16),
        Block(16),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 10),
    )
    if faulty:
        for p in net.parameters():
            nn.init.normal_(p)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    last = []
    with watch(net, opt):
        for epoch in range(12):
            for idx in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(net(x[idx]), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
                if epoch == 11:
                    last.append(loss.item())
    return -sum(last) / len(last)
