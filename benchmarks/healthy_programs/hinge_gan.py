"""Healthy: a hinge GAN with spectral norm and two rates; both losses settle at a constant by design."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

FAMILY = "generative"
EXPECTS = ()


def real_batch(n):
    t = 3 * torch.rand(n, 1) + 0.5
    return torch.cat([t * (2 * t).cos(), t * (2 * t).sin()], 1) / 2 + 0.05 * torch.randn(n, 2)


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            spectral_norm(nn.Linear(2, 96)),
            nn.LeakyReLU(0.1),
            spectral_norm(nn.Linear(96, 96)),
            nn.LeakyReLU(0.1),
            spectral_norm(nn.Linear(96, 1)),
        )

    def forward(self, x):
        return self.net(2 * x)


def main(watch):
    generator = nn.Sequential(nn.Linear(6, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 2))
    critic = Critic()
    opt_g = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
    monitor = watch(nn.ModuleDict({"generator": generator, "critic": critic}), [opt_g, opt_d])
    with torch.no_grad():
        start = energy_distance(generator(torch.randn(1000, 6)), real_batch(1000))
    for it in range(1200):
        fake = generator(torch.randn(96, 6)).detach()
        d_loss = F.relu(1 - critic(real_batch(96))).mean() + F.relu(1 + critic(fake)).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        g_loss = -critic(generator(torch.randn(96, 6))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if it % 100 == 99:
            with torch.no_grad():
                distance = energy_distance(generator(torch.randn(1000, 6)), real_batch(1000))
            monitor.log(d_loss=d_loss.item(), g_loss=g_loss.item(), energy_distance=distance)
    monitor.close()
    assert distance < 0.15 * start, (start, distance)
    return -distance
