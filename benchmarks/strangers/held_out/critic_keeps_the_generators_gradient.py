"""A GAN whose discriminator is never cleared: besides its own gradients it keeps those that the generator's loss leaves
in it, and steps along all of them."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "generative"
EXPECTS = (
    "accumulating-gradient",
    "oversized-update",
    "unbalanced-loss-parts",
    "oscillating-loss",
    "diverging-loss",
    "runaway-weights",
)


def ring(count):
    angle = 6.2832 * torch.rand(count)
    return (1.5 + 0.1 * torch.randn(count))[:, None] * torch.stack([angle.cos(), angle.sin()], 1)


def chamfer(a, b):
    distance = torch.cdist(a, b)
    return (distance.min(0).values.mean() + distance.min(1).values.mean()).item()


def main(watch, faulty):
    generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    discriminator = nn.Sequential(
        nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
    )
    opt_g = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(discriminator.parameters(), lr=2e-3, betas=(0.5, 0.999))
    one, zero = torch.ones(128, 1), torch.zeros(128, 1)
    bce = F.binary_cross_entropy_with_logits
    with watch(nn.ModuleDict({"g": generator, "d": discriminator}), [opt_g, opt_d]) as monitor:
        for step in range(700):
            fake = generator(torch.randn(128, 8))
            if not faulty:
                opt_d.zero_grad()
            d_loss = bce(discriminator(ring(128)), one) + bce(discriminator(fake.detach()), zero)
            d_loss.backward()
            opt_d.step()

            opt_g.zero_grad()
            g_loss = bce(discriminator(fake), one)
            g_loss.backward()
            opt_g.step()
            if step % 50 == 0:
                monitor.log(loss_d=d_loss.item(), loss_g=g_loss.item())
    with torch.no_grad():
        return -chamfer(generator(torch.randn(1000, 8)), ring(1000))
