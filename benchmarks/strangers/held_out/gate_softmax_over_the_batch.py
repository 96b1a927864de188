"""A mixture of experts whose gate takes its softmax over the samples of the batch instead of over the experts."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("mixed-samples", "gap-from-start", "underfitting", "nothing-generalises")


def piecewise(n):
    x = torch.rand(n, 6) * 2 - 1
    regime = (x[:, 0] > 0).long() * 2 + (x[:, 1] > 0).long()
    slopes = torch.tensor([[2.0, -1, 0.5, 0], [-2, 1, 0, 1], [0, 2, -2, 1], [1, 0, 1, -2]])
    return x, (slopes[regime] * x[:, 2:]).sum(1) + regime.float() - 1.5 + 0.05 * torch.randn(n)


class Experts(nn.Module):
    def __init__(self, dim, experts=8):
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, experts))
        self.experts = nn.ModuleList(nn.Linear(6, 1) for _ in range(experts))
        self.dim = dim

    def forward(self, x):
        weight = F.softmax(self.gate(x), dim=self.dim)
        return (weight * torch.cat([e(x) for e in self.experts], 1)).sum(1)


def main(watch, faulty):
    x, y = piecewise(2800)
    loader = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=48, shuffle=True)
    val_loader = DataLoader(TensorDataset(x[2400:], y[2400:]), batch_size=200)
    model = Experts(dim=0 if faulty else 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        for xb, yb in loader:
            optimizer.zero_grad()
            F.mse_loss(model(xb), yb).backward()
            optimizer.step()
        with torch.no_grad():
            val = sum(F.mse_loss(model(xb), yb).item() for xb, yb in val_loader) / len(val_loader)
        monitor.log(val_loss=val, epoch=epoch)
    monitor.close()
    return -val
