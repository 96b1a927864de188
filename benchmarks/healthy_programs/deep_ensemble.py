"""Five nets with a Gaussian likelihood, one after the other in one process, averaged at the end."""

import torch
import torch.nn.functional as F
from torch import nn


class GaussianMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(1, 50), nn.ReLU(), nn.Linear(50, 50), nn.ReLU(), nn.Linear(50, 2))

    def forward(self, x):
        mean, raw = self.net(x).chunk(2, 1)
        return mean, F.softplus(raw) + 1e-6


def main(watch):
    X = 8 * torch.rand(400, 1) - 4
    y = X**3 / 20 + 0.3 * torch.randn(400, 1)
    held = torch.linspace(-4, 4, 100)[:, None]
    means = []
    for _ in range(5):
        model = GaussianMLP()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        monitor = watch(model, optimizer)
        for epoch in range(40):
            for i in torch.randperm(400).split(50):
                mean, var = model(X[i])
                loss = F.gaussian_nll_loss(mean, y[i], var)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                rmse = F.mse_loss(model(held)[0], held**3 / 20).sqrt().item()
            monitor.log(val_rmse=rmse, epoch=epoch)
        monitor.close()
        with torch.no_grad():
            means.append(model(held)[0])
    assert F.mse_loss(torch.stack(means).mean(0), held**3 / 20).sqrt() < 0.3
