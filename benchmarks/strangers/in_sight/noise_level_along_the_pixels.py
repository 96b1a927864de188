"""Diffusion on 64-pixel digits with a batch of 64: the noise level of each sample has shape (64,) and is broadcast
along the pixels, so no sample is noised as its time step says."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

FAMILY = "generative"

EXPECTS = ("unmatched-noise", "broadcast-loss", "mixed-samples", "stalled-loss", "underfitting")
STEPS = 60


class Denoiser(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.time = nn.Embedding(STEPS, 32)
        self.net = nn.Sequential(
            nn.Linear(64 + 32, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 64)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


def main(watch, faulty):
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    loader = DataLoader(x, batch_size=64, shuffle=True, drop_last=True)
    beta = torch.linspace(1e-3, 0.15, STEPS)
    alpha = 1 - beta
    abar = alpha.cumprod(0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    monitor = watch(model, optimizer)
    for epoch in range(40):
        total = 0.0
        for clean in loader:
            t = torch.randint(0, STEPS, (len(clean),))
            noise = torch.randn_like(clean)
            level = abar[t] if faulty else abar[t][:, None]
            noisy = level.sqrt() * clean + (1 - level).sqrt() * noise
            loss = F.mse_loss(model(noisy, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        monitor.log(train_loss=total / len(loader), epoch=epoch)
    monitor.close()
    with torch.no_grad():
        sample = torch.randn(500, 64)
        for t in reversed(range(STEPS)):
            eps = model(sample, torch.full((500,), t))
            sample = (sample - beta[t] / (1 - abar[t]).sqrt() * eps) / alpha[t].sqrt()
            if t:
                sample += beta[t].sqrt() * torch.randn_like(sample)
        real = x[torch.randperm(len(x))[:500]]
        return -(
            2 * torch.cdist(sample, real).mean() - torch.cdist(sample, sample).mean() - torch.cdist(real, real).mean()
        ).item()
