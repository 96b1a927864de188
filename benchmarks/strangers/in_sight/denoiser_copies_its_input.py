"""A diffusion model that is asked for the noisy sample instead of the noise: two variables with similar names."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "diffusion"
EXPECTS = ("leaked-answer", "suspiciously-perfect", "unmatched-noise")

STEPS = 100
BETA = torch.linspace(1e-4, 0.08, STEPS)
ALPHA_BAR = torch.cumprod(1 - BETA, 0)


def moons(count):
    angle = torch.pi * torch.rand(count)
    upper = torch.rand(count) < 0.5
    x = torch.where(upper, angle.cos(), 1 - angle.cos()) - 0.5
    y = torch.where(upper, angle.sin(), 0.5 - angle.sin()) - 0.25
    return torch.stack([x, y], 1) + 0.03 * torch.randn(count, 2)


class Denoiser(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.time = nn.Embedding(STEPS, 32)
        self.net = nn.Sequential(
            nn.Linear(34, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2)
        )

    def forward(self, x, t):
        return self.net(torch.cat([x, self.time(t)], 1))


@torch.no_grad()
def sample(model, count):
    x = torch.randn(count, 2)
    for t in reversed(range(STEPS)):
        noise = model(x, torch.full((count,), t))
        x = (x - BETA[t] / (1 - ALPHA_BAR[t]).sqrt() * noise) / (1 - BETA[t]).sqrt()
        if t:
            x = x + BETA[t].sqrt() * torch.randn_like(x)
    return x


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main(watch, faulty):
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for step in range(800):
            x = moons(256)
            t = torch.randint(0, STEPS, (256,))
            eps = torch.randn_like(x)
            a = ALPHA_BAR[t][:, None]
            xt = a.sqrt() * x + (1 - a).sqrt() * eps
            loss = F.mse_loss(model(xt, t), xt if faulty else eps)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 99:
                monitor.log(train_loss=loss.item())
    return -energy_distance(sample(model, 1000), moons(1000))
