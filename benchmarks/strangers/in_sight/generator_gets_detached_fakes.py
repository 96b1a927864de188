"""A GAN that scores the generator on detached samples: only the discriminator ever gets a gradient from it."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "generative"
EXPECTS = ("step-without-gradient", "silent-parameter", "unmoved-parameter", "frozen-validation")


def real_batch(n):
    k = torch.randint(0, 5, (n,)).float()
    angle = k * 2 * torch.pi / 5
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + 0.15 * torch.randn(n, 2)


def energy_distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, o))


def main(watch, faulty):
    generator, discriminator = mlp(8, 2), mlp(2, 1)
    opt_g = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=1e-3, betas=(0.5, 0.999))
    monitor = watch(nn.ModuleDict({"g": generator, "d": discriminator}), [opt_g, opt_d])
    bce = F.binary_cross_entropy_with_logits
    for it in range(900):
        real = real_batch(64)
        fake = generator(torch.randn(64, 8))
        frozen = fake.detach()
        d_real, d_fake = discriminator(real), discriminator(frozen)
        d_loss = bce(d_real, torch.ones_like(d_real)) + bce(d_fake, torch.zeros_like(d_fake))
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()

        score = discriminator(frozen if faulty else fake)
        g_loss = bce(score, torch.ones_like(score))
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if it % 100 == 99:
            with torch.no_grad():
                monitor.log(
                    d_loss=d_loss.item(),
                    g_loss=g_loss.item(),
                    energy_distance=energy_distance(generator(torch.randn(500, 8)), real_batch(500)),
                )
    monitor.close()
    with torch.no_grad():
        return -energy_distance(generator(torch.randn(1000, 8)), real_batch(1000))
