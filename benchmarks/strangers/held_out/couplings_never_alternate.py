"""A normalising flow whose coupling layers all keep the same coordinate: half of the data is never transformed."""

import math

import torch
from sklearn.datasets import make_moons
from torch import nn

FAMILY = "flow"
EXPECTS = ("stalled-loss", "underfitting", "stuck-from-start", "loss-at-chance")


class Coupling(nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.keep = keep
        self.net = nn.Sequential(nn.Linear(1, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 2))

    def forward(self, x):
        a, b = x[:, self.keep : self.keep + 1], x[:, 1 - self.keep : 2 - self.keep]
        s, t = self.net(a).chunk(2, 1)
        s = 2 * torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([a, b] if self.keep == 0 else [b, a], 1), s.squeeze(1)


class Flow(nn.Module):
    def __init__(self, keeps):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(k) for k in keeps)

    def forward(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, s = layer(x)
            total = total + s
        return -0.5 * (x**2).sum(1) - math.log(2 * math.pi) + total


def main(watch, faulty):
    points = torch.tensor(make_moons(3000, noise=0.05, random_state=0)[0], dtype=torch.float32)
    points = (points - points.mean(0)) / points.std(0)
    points = points[torch.randperm(3000)]
    model = Flow([0] * 6 if faulty else [0, 1] * 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(40):
            for batch in points[:2500][torch.randperm(2500)].split(125):
                loss = -model(batch).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                nll = -model(points[2500:]).mean().item()
            monitor.log(val_nll=nll)
    return -nll
