"""Diffusion on digits that noises with the alpha of one step where the product of all belongs: pictures are hardly
ever noisy, and what noise there is cannot be told from the picture."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

FAMILY = "generative"
EXPECTS = ("unmatched-noise", "loss-at-chance", "stalled-loss", "underfitting", "stuck-from-start")
STEPS = 80


class Denoiser(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.time = nn.Sequential(nn.Embedding(STEPS, 32), nn.Linear(32, width), nn.SiLU())
        self.first, self.last = nn.Linear(64, width), nn.Linear(width, 64)
        self.middle = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())

    def forward(self, x, t):
        return self.last(self.middle(F.silu(self.first(x)) + self.time(t)))


def main(watch, faulty):
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    beta = torch.linspace(1e-3, 0.12, STEPS)
    alpha = 1 - beta
    kept = alpha if faulty else alpha.cumprod(0)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(45):
            losses = []
            for clean in x[torch.randperm(len(x))].split(64):
                t = torch.randint(0, STEPS, (len(clean),))
                noise = torch.randn_like(clean)
                noisy = kept[t, None].sqrt() * clean + (1 - kept[t, None]).sqrt() * noise
                loss = F.mse_loss(model(noisy, t), noise)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            monitor.log(train_loss=sum(losses) / len(losses), epoch=epoch)
    abar = alpha.cumprod(0)
    with torch.no_grad():
        sample = torch.randn(500, 64)
        for t in reversed(range(STEPS)):
            noise = model(sample, torch.full((500,), t))
            sample = (sample - beta[t] / (1 - abar[t]).sqrt() * noise) / alpha[t].sqrt()
            if t:
                sample += beta[t].sqrt() * torch.randn_like(sample)
        real = x[torch.randperm(len(x))[:500]]
        return -(
            2 * torch.cdist(sample, real).mean() - torch.cdist(sample, sample).mean() - torch.cdist(real, real).mean()
        ).item()
