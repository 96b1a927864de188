"""A restricted Boltzmann machine: the loss is a difference of free energies that hovers about zero while the model
learns."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits


class RBM(nn.Module):
    def __init__(self, visible, hidden):
        super().__init__()
        self.w = nn.Parameter(0.01 * torch.randn(hidden, visible))
        self.b, self.c = nn.Parameter(torch.zeros(visible)), nn.Parameter(torch.zeros(hidden))

    def free_energy(self, v):
        return -(v @ self.b) - F.softplus(F.linear(v, self.w, self.c)).sum(1)

    @torch.no_grad()
    def gibbs(self, v, steps=1):
        for _ in range(steps):
            h = torch.bernoulli(torch.sigmoid(F.linear(v, self.w, self.c)))
            v = torch.bernoulli(torch.sigmoid(F.linear(h, self.w.t(), self.b)))
        return v

    def forward(self, v):
        h = torch.sigmoid(F.linear(v, self.w, self.c))
        return torch.sigmoid(F.linear(h, self.w.t(), self.b))


def main(watch):
    x, _, xv, _ = digits()
    x, xv = (x > 0.5).float(), (xv > 0.5).float()
    rbm = RBM(64, 80)
    share = x.mean(0).clamp(0.01, 0.99)
    rbm.b.data.copy_((share / (1 - share)).log())
    optimizer = torch.optim.SGD(rbm.parameters(), lr=0.05, momentum=0.5, weight_decay=1e-4)
    monitor = watch(rbm, optimizer)
    for epoch in range(45):
        for rows in torch.randperm(len(x)).split(50):
            v = x[rows]
            model_v = rbm.gibbs(v, 2)
            loss = (rbm.free_energy(v) - rbm.free_energy(model_v)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            error = F.binary_cross_entropy(rbm(xv), xv).item()
        monitor.log({"epoch": epoch, "val/reconstruction": error})
    monitor.close()
    base = F.binary_cross_entropy(share.expand_as(xv), xv).item()
    assert error < 0.6 * base, (error, base)
