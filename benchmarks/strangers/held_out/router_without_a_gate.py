"""A mixture of experts takes the argmax expert and never multiplies by the gate: the router learns nothing."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "mixture of experts"
EXPECTS = ("silent-parameter", "underfitting", "stalled-loss", "dead-layer")


class Mixture(nn.Module):
    def __init__(self, gated):
        super().__init__()
        self.gated = gated
        self.router = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
        self.experts = nn.ModuleList(nn.Linear(6, 1) for _ in range(4))

    def forward(self, x):
        probs = self.router(x).softmax(1)
        out = torch.cat([expert(x) for expert in self.experts], 1)
        if self.gated:
            return (probs * out).sum(1)
        return out.gather(1, probs.argmax(1, keepdim=True)).squeeze(1)


def main(watch, faulty):
    rules = torch.randn(4, 6) * 2
    x = torch.randn(2400, 6)
    which = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    y = (rules[which] * x).sum(1)
    model = Mixture(gated=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for idx in torch.randperm(2000).split(64):
                loss = F.mse_loss(model(x[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                val = F.mse_loss(model(x[2000:]), y[2000:]).item()
            monitor.log(val_loss=val)
    return -val
