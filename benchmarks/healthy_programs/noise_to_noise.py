"""Noise2Noise: targets are as noisy as inputs, so the loss stays at the noise floor; only the clean test shows the
gain."""

import torch
from torch import nn


def waves(n, length=64):
    t = torch.linspace(0, 1, length)
    f, p, a = 1 + 4 * torch.rand(n, 2, 1), 6.28 * torch.rand(n, 2, 1), 0.4 + 0.6 * torch.rand(n, 2, 1)
    return (a * torch.sin(6.28 * f * t + p)).sum(1, keepdim=True)


class Denoiser(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(1, width, 9, padding=4),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, width, 9, padding=4),
            nn.BatchNorm1d(width),
            nn.ReLU(),
            nn.Conv1d(width, 1, 9, padding=4),
        )

    def forward(self, x):
        return self.layers(x)


def main(watch):
    sigma = 0.8
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    steps = 500
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    clean = waves(200)
    noisy, other = clean + sigma * torch.randn_like(clean), clean + sigma * torch.randn_like(clean)
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            x = waves(48)
            a, b = x + sigma * torch.randn_like(x), x + sigma * torch.randn_like(x)
            loss = nn.functional.mse_loss(model(a), b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 50 == 49:
                model.eval()
                with torch.no_grad():
                    out = model(noisy)
                model.train()
                monitor.log(val_loss=nn.functional.mse_loss(out, other).item())
    error = (out - clean).pow(2).mean().item()
    assert error < 0.25 * sigma**2, error
