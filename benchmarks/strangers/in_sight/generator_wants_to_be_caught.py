"""A GAN whose generator is trained on the label of fakes: it learns to make what the discriminator recognises best."""

import torch
from torch import nn

FAMILY = "generative"
EXPECTS = (
    "unbalanced-loss-parts",
    "worsening-metric",
    "collapsed-activations",
    "suspiciously-perfect",
    "runaway-weights",
)


def ring(n):
    angle = 2 * torch.pi * torch.randint(0, 8, (n,)) / 8
    return torch.stack([2 * angle.cos(), 2 * angle.sin()], 1) + 0.1 * torch.randn(n, 2)


def distance(a, b):
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main(watch, faulty):
    generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    critic = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    g_opt = torch.optim.Adam(generator.parameters(), lr=5e-4, betas=(0.5, 0.999))
    c_opt = torch.optim.Adam(critic.parameters(), lr=5e-4, betas=(0.5, 0.999))
    model = nn.ModuleDict({"generator": generator, "critic": critic})
    bce = nn.BCEWithLogitsLoss()
    ones, zeros = torch.ones(128, 1), torch.zeros(128, 1)
    with watch(model, [g_opt, c_opt]) as monitor:
        for step in range(1200):
            real, fake = ring(128), generator(torch.randn(128, 8))
            c_opt.zero_grad()
            d_loss = bce(critic(real), ones) + bce(critic(fake.detach()), zeros)
            d_loss.backward()
            c_opt.step()
            g_opt.zero_grad()
            g_loss = bce(critic(fake), zeros if faulty else ones)
            g_loss.backward()
            g_opt.step()
            if step % 60 == 59:
                with torch.no_grad():
                    far = distance(generator(torch.randn(500, 8)), ring(500))
                monitor.log(d_loss=d_loss.item(), g_loss=g_loss.item(), val_distance=far)
    with torch.no_grad():
        return -distance(generator(torch.randn(2000, 8)), ring(2000))
