"""Forecasting a noisy seasonal series with sliding windows and a 1-D convolution, chronological split, Huber loss."""

import torch
from torch import nn


def main(watch):
    t = torch.arange(2000).float()
    series = 10 + 3 * torch.sin(t / 12) + torch.sin(t / 31) * 2 + 0.3 * torch.randn(2000)
    mu, sd = series[:1600].mean(), series[:1600].std()
    z = (series - mu) / sd
    windows = z.unfold(0, 49, 1)
    X, y = windows[:, None, :48], windows[:, 48]
    Xtr, ytr, Xva, yva = X[:1500], y[:1500], X[1560:], y[1560:]
    model = nn.Sequential(
        nn.Conv1d(1, 16, 5), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 32, 5), nn.ReLU(),
        nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(128, 1),
    )  # fmt: skip
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    monitor = watch(model, optimizer)
    for _ in range(15):
        for idx in torch.randperm(1500).split(50):
            optimizer.zero_grad()
            loss = nn.functional.huber_loss(model(Xtr[idx]).squeeze(1), ytr[idx])
            loss.backward()
            optimizer.step()
        scheduler.step()
        with torch.no_grad():
            mae = (model(Xva).squeeze(1) - yva).abs().mean().item() * sd.item()
        monitor.log(val_mae=mae)
    monitor.close()
    assert mae < 1.0
