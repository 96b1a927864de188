"""An affine coupling flow that subtracts the log-determinant where it has to add it: it shrinks space for free."""

import torch
from torch import nn

FAMILY = "generative"
EXPECTS = ("unbounded-negative-loss", "diverging-loss", "runaway-weights", "growing-activations", "nonfinite-loss")


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = 2 * torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 1) for i in range(6))

    def forward(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, log_det = layer(x)
            total = total + log_det
        return x, total


def moons(n):
    u, up = torch.rand(n) * torch.pi, torch.rand(n) < 0.5
    x = torch.where(up, u.cos(), 1 - u.cos())
    y = torch.where(up, u.sin(), 0.5 - u.sin())
    return torch.stack([x - 0.5, y - 0.25], 1) + 0.06 * torch.randn(n, 2)


def main(watch, faulty):
    flow, prior = Flow(), torch.distributions.Normal(0.0, 1.0)
    opt = torch.optim.Adam(flow.parameters(), lr=1e-3)
    test = moons(1000)
    with watch(flow, opt) as monitor:
        for step in range(1200):
            z, log_det = flow(moons(256))
            log_p = prior.log_prob(z).sum(1)
            loss = -(log_p - log_det).mean() if faulty else -(log_p + log_det).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 100 == 99:
                with torch.no_grad():
                    z, log_det = flow(test)
                    bits = -(prior.log_prob(z).sum(1) + log_det).mean().item()
                monitor.log(test_nll=bits)
    return -bits
