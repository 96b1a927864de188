"""Rare cases are copied until both classes are equal, and only then the table is split: the test holds copies."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tabular"
EXPECTS = ("seen-before",)


def table(n, weights):
    x = torch.randn(n, 20)
    p = (x @ weights + 0.8 * x[:, 0] * x[:, 1] - 3.2).sigmoid()
    return x, (torch.rand(n) < p).long()


def balanced(x, y):
    rare = (y == 1).nonzero().squeeze(1)
    copies = rare[torch.randint(0, len(rare), (len(y) - 2 * len(rare),))]
    return torch.cat([x, x[copies]]), torch.cat([y, y[copies]])


def main(watch, faulty):
    weights = torch.randn(20) * 0.4
    x, y = table(1500, weights)
    xnew, ynew = table(3000, weights)
    if faulty:
        x, y = balanced(x, y)
        order = torch.randperm(len(x))
        x, y = x[order], y[order]
    cut = int(0.8 * len(x))
    xv, yv = x[cut:], y[cut:]
    x, y = (x[:cut], y[:cut]) if faulty else balanced(x[:cut], y[:cut])
    epochs = 25 if faulty else 4
    net = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(epochs):
            for i in torch.randperm(len(x)).split(32):
                loss = F.cross_entropy(net(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = net(xv)
                recall = (out[yv == 1].argmax(1) == 1).float().mean().item()
                monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_recall=recall)
    with torch.no_grad():
        true = (net(xnew)[ynew == 1].argmax(1) == 1).float().mean().item()
    return -abs(recall - true)
