"""A graph net of six layers that multiplies by the bare adjacency matrix: what hubs collect grows with every layer."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "graph net"
EXPECTS = ("wrong-initial-loss", "growing-activations", "exploding-gradient", "oversized-update", "noisy-loss",
           "loss-spike", "oscillating-loss", "underfitting")  # fmt: skip


def main(watch, faulty):
    n = 400
    y = torch.randint(0, 4, (n,))
    weight = torch.ones(n)
    weight[torch.randperm(n)[:12]] = 12.0
    chance = torch.where(y[:, None] == y, 0.04, 0.006) * (weight[:, None] * weight).sqrt()
    a = (torch.rand(n, n) < chance.clamp(max=0.9)).float().triu(1)
    a = a + a.T + torch.eye(n)
    a = a if faulty else a / (a.sum(1, keepdim=True) * a.sum(0, keepdim=True)).sqrt()
    x = F.one_hot(y, 4).float() + 1.2 * torch.randn(n, 4)
    x = torch.cat([x, torch.randn(n, 12)], 1)
    train = torch.rand(n) < 0.5

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(16 if i == 0 else 32, 4 if i == 5 else 32) for i in range(6))

        def forward(self, h):
            for i, layer in enumerate(self.layers):
                h = layer(a @ h)
                h = F.relu(h) if i < 5 else h
            return h

    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    with watch(net, opt) as monitor:
        for _ in range(200):
            loss = F.cross_entropy(net(x)[train], y[train])
            opt.zero_grad()
            loss.backward()
            opt.step()
            with torch.no_grad():
                out = net(x)
                acc = (out[~train].argmax(1) == y[~train]).float().mean().item()
                monitor.log(val_loss=F.cross_entropy(out[~train], y[~train]).item(), val_acc=acc)
    return acc
