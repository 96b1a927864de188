"""RealNVP coupling layers on two moons: the loss is a negative log-likelihood that goes below zero, rightly."""

import torch
from sklearn.datasets import make_moons
from torch import nn


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.s = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1), nn.Tanh())
        self.t = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s = self.s(a)
        b = b * s.exp() + self.t(a)
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(6))

    def log_prob(self, x):
        total = 0
        for layer in self.layers:
            x, d = layer(x)
            total = total + d
        return torch.distributions.Normal(0, 1).log_prob(x).sum(1) + total


def main(watch):
    data = torch.tensor(make_moons(5000, noise=0.03)[0], dtype=torch.float32) * 0.6
    flow = Flow()
    optimizer = torch.optim.Adam(flow.parameters(), lr=3e-3)
    monitor = watch(flow, optimizer)
    held = data[4500:]
    nll = []
    for it in range(600):
        batch = data[torch.randint(0, 4500, (200,))]
        loss = -flow.log_prob(batch).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(flow.parameters(), 5.0)
        optimizer.step()
        if it % 60 == 59:
            with torch.no_grad():
                nll.append(-flow.log_prob(held).mean().item())
            monitor.log(val_nll=nll[-1])
    monitor.close()
    assert nll[-1] < 0.9
