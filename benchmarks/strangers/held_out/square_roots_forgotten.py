"""Noise is added as abar * x + (1 - abar) * eps: the two square roots are missing, and the sampler, which has them,
meets pictures it has never seen."""

import math

import torch
import torch.nn as nn
from sklearn.datasets import make_moons

FAMILY = "diffusion"
EXPECTS = ("unmatched-noise", "inputs-differ")

T = 60
betas = torch.linspace(1e-3, 0.12, T)
alphas = 1 - betas
abar = torch.cumprod(alphas, 0)


class Denoiser(nn.Module):
    def __init__(self, hidden=96):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2 + 16, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, hidden),
            nn.SiLU(),
            nn.Linear(hidden, 2),
        )

    def embed(self, t):
        f = torch.exp(-math.log(100.0) * torch.arange(8) / 8)
        a = t.float()[:, None] * f
        return torch.cat([a.sin(), a.cos()], 1)

    def forward(self, x, t):
        return self.net(torch.cat([x, self.embed(t)], 1))


def q_sample(x0, t, noise, faulty):
    keep, add = abar[t][:, None], 1 - abar[t][:, None]
    if not faulty:
        keep, add = keep.sqrt(), add.sqrt()
    return keep * x0 + add * noise


@torch.no_grad()
def sample(model, n):
    x = torch.randn(n, 2)
    for i in reversed(range(T)):
        t = torch.full((n,), i)
        eps = model(x, t)
        x = (x - betas[i] / (1 - abar[i]).sqrt() * eps) / alphas[i].sqrt()
        if i:
            x = x + betas[i].sqrt() * torch.randn_like(x)
    return x


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def moons(n):
    x = torch.tensor(make_moons(n, noise=0.06)[0], dtype=torch.float32)
    return (x - torch.tensor([0.5, 0.25])) / torch.tensor([0.87, 0.5])


def main(watch, faulty):
    data, held = moons(5000), moons(800)
    model = Denoiser()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    steps = 1200
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    mse = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for step in range(1, steps + 1):
            x0 = data[torch.randint(0, len(data), (256,))]
            t, noise = torch.randint(0, T, (256,)), torch.randn(256, 2)
            loss = mse(model(q_sample(x0, t, noise, faulty), t), noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            if step % 120 == 0:
                with torch.no_grad():
                    t, noise = torch.randint(0, T, (800,)), torch.randn(800, 2)
                    val = mse(model(q_sample(held, t, noise, faulty), t), noise).item()
                monitor.log(step=step, val_loss=val)
    return -energy_distance(sample(model, 800), held)
