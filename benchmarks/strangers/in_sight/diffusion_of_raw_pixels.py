"""Diffusion on pictures whose pixels were never scaled (0 to 16): the noise of spread one is nothing beside them, and
at the last step of the forward process the picture is still plainly there."""

import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

FAMILY = "generative"
EXPECTS = ("unmatched-noise", "unnormalised-input", "extreme-input", "stalled-loss", "underfitting", "loss-at-chance")
STEPS = 60


def embedding(t, width=32):
    rates = torch.exp(-math.log(1000.0) * torch.arange(width // 2) / (width // 2))
    angles = t.float()[:, None] * rates
    return torch.cat([angles.sin(), angles.cos()], 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(96, 256),
            nn.SiLU(),
            nn.Linear(256, 256),
            nn.SiLU(),
            nn.Linear(256, 256),
            nn.SiLU(),
            nn.Linear(256, 64),
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, embedding(t)], 1))


def main(watch, faulty):
    raw = torch.tensor(load_digits().data, dtype=torch.float32)
    x = raw if faulty else raw / 8 - 1
    beta = torch.linspace(1e-3, 0.15, STEPS)
    alpha, abar = 1 - beta, (1 - beta).cumprod(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(50):
        total = 0.0
        for clean in x[torch.randperm(len(x))].split(64):
            t = torch.randint(0, STEPS, (len(clean),))
            noise = torch.randn_like(clean)
            noisy = abar[t, None].sqrt() * clean + (1 - abar[t, None]).sqrt() * noise
            loss = F.mse_loss(model(noisy, t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(clean) / len(x)
        monitor.log(train_loss=total, epoch=epoch)
    monitor.close()
    with torch.no_grad():
        sample = torch.randn(500, 64)
        for t in reversed(range(STEPS)):
            noise = model(sample, torch.full((500,), t))
            sample = (sample - beta[t] / (1 - abar[t]).sqrt() * noise) / alpha[t].sqrt()
            if t:
                sample += beta[t].sqrt() * torch.randn_like(sample)
        if faulty:
            sample = sample / 8 - 1
        real = raw[torch.randperm(len(raw))[:500]] / 8 - 1
        return -(
            2 * torch.cdist(sample, real).mean() - torch.cdist(sample, sample).mean() - torch.cdist(real, real).mean()
        ).item()
