"""Regression where some targets are missing and masked out: prediction is (batch, 1), the mask is (batch,), and their
product is (batch, batch), so that the placeholder counts like any other target."""

import numpy as np
import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("broadcast-loss", "unreachable-target", "gap-from-start")
MISSING = -5.0


def make(n=1800):
    rng = np.random.default_rng(0)
    base = load_diabetes().data.astype(np.float32) * 20
    x = base[rng.integers(0, len(base), n)] + 0.3 * rng.standard_normal((n, 10)).astype(np.float32)
    y = 0.8 * x[:, 2] + 0.6 * x[:, 8] + np.sin(2 * x[:, 3]) + 0.1 * rng.standard_normal(n)
    y = ((y - y.mean()) / y.std()).astype(np.float32)
    known = rng.random(n) > 0.4
    return torch.tensor(x), torch.tensor(np.where(known, y, MISSING).astype(np.float32)), torch.tensor(known), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.out = nn.Linear(64, 1)

    def forward(self, x):
        return self.out(self.body(x))


def masked_mse(pred, target, known):
    return ((pred - target) ** 2 * known).sum() / known.sum()


def main(watch, faulty):
    x, y, known, full = make()
    true = torch.tensor(full)
    cut = 1400
    loader = DataLoader(TensorDataset(x[:cut], y[:cut, None], known[:cut].float()), batch_size=32, shuffle=True)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        for features, target, valid in loader:
            if not faulty:
                valid = valid[:, None]
            loss = masked_mse(model(features), target, valid)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            mae = (model(x[cut:]).squeeze(1) - true[cut:]).abs().mean().item()
        monitor.log(val_mae=mae, epoch=epoch)
    monitor.close()
    return -mae
