"""Each batch's targets are standardised by that batch's own mean and spread, and there are four samples in a batch."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "regression"
EXPECTS = ("noisy-loss", "underfitting", "stalled-loss", "validation-below-training")


def main(watch, faulty):
    x = torch.randn(1200, 8)
    y = 3 * x[:, 0] - 2 * x[:, 1] * x[:, 2] + 20
    mean, std = y[:1000].mean(), y[:1000].std()
    model = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(10):
            for idx in torch.randperm(1000).split(4):
                t = y[idx]
                t = (t - t.mean()) / t.std() if faulty else (t - mean) / std
                loss = F.mse_loss(model(x[idx]).squeeze(1), t)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                rmse = F.mse_loss(model(x[1000:]).squeeze(1) * std + mean, y[1000:]).sqrt().item()
            monitor.log(val_rmse=rmse)
    return -rmse
