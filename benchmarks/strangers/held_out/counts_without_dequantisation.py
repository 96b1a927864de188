"""A normalising flow for counts: whole numbers without the uniform noise that makes a density of them. The density
grows without end on the whole numbers, and has nothing between."""

import math

import torch
from torch import nn

FAMILY = "flow"
EXPECTS = (
    "unbounded-negative-loss",
    "overfitting",
    "gap-from-start",
    "loss-spike",
    "diverging-loss",
    "exploding-gradient",
)


class Coupling(nn.Module):
    def __init__(self, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        a, b = x.chunk(2, 1)
        a, b = (b, a) if self.flip else (a, b)
        shift, scale = self.net(a).chunk(2, 1)
        scale = 2.5 * torch.tanh(scale / 2.5)
        b = b * scale.exp() + shift
        return torch.cat([b, a] if self.flip else [a, b], 1), scale.sum(1)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(bool(i % 2)) for i in range(6))

    def nll(self, x):
        log_det = 0.0
        for layer in self.layers:
            x, d = layer(x)
            log_det = log_det + d
        return (0.5 * x.pow(2).sum(1) + 2 * math.log(2 * math.pi) - log_det).mean()

    def forward(self, x):
        return self.nll(x)


def clicks(count):
    """How often four pages were opened: all depend on how busy the day is."""
    busy = torch.rand(count, 1) * 2
    return torch.poisson(busy * torch.tensor([[0.5, 1.0, 1.5, 0.4]]))


def main(watch, faulty):
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def prepare(counts, noise):
        return counts + torch.rand_like(counts) if noise else counts

    valid = clicks(1000)
    with watch(model, optimizer) as monitor:
        for step in range(600):
            optimizer.zero_grad()
            loss = model(prepare(clicks(128), not faulty))
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            if step % 50 == 49:
                with torch.no_grad():
                    monitor.log(val_nll=model(prepare(valid, not faulty)).item())
    with torch.no_grad():
        return -min(model(prepare(clicks(4000), True)).item(), 1e6)
