"""Healthy: the first Wasserstein GAN, with clipped weights, RMSprop and a critic loss that is negative by design."""

import torch
from torch import nn

FAMILY = "generative"
EXPECTS = ()


def real_batch(n):
    t = torch.rand(n, 1) * 2 * torch.pi
    return torch.cat([2 * t.cos(), t.sin()], 1) + 0.05 * torch.randn(n, 2) + torch.tensor([1.5, 0.0])


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main(watch):
    generator = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    opt_g = torch.optim.RMSprop(generator.parameters(), lr=5e-4)
    opt_c = torch.optim.RMSprop(critic.parameters(), lr=5e-4)
    monitor = watch(nn.ModuleDict({"generator": generator, "critic": critic}), [opt_g, opt_c])
    with torch.no_grad():
        start = energy_distance(generator(torch.randn(1000, 4)), real_batch(1000))
    for it in range(700):
        for _ in range(3):
            fake = generator(torch.randn(64, 4)).detach()
            c_loss = critic(fake).mean() - critic(real_batch(64)).mean()
            opt_c.zero_grad()
            c_loss.backward()
            opt_c.step()
            with torch.no_grad():
                for p in critic.parameters():
                    p.clamp_(-0.1, 0.1)
        g_loss = -critic(generator(torch.randn(64, 4))).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if it % 50 == 49:
            with torch.no_grad():
                distance = energy_distance(generator(torch.randn(1000, 4)), real_batch(1000))
            monitor.log(critic_loss=c_loss.item(), energy_distance=distance)
    monitor.close()
    assert distance < 0.25 * start, (start, distance)
    return -distance
