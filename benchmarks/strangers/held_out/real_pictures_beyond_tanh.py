"""The generator ends with tanh, but the real pictures were left at 0 to 16: no fake can ever look like them."""

import torch
import torch.nn as nn

from strangers.common import digits

FAMILY = "GAN"
EXPECTS = (
    "unreachable-target",
    "unbalanced-loss-parts",
    "saturated-units",
    "collapsed-activations",
    "unnormalised-input",
    "faded-gradient",
)

LATENT = 16


def generator():
    return nn.Sequential(
        nn.Linear(LATENT, 64),
        nn.BatchNorm1d(64),
        nn.ReLU(),
        nn.Linear(64, 128),
        nn.BatchNorm1d(128),
        nn.ReLU(),
        nn.Linear(128, 64),
        nn.Tanh(),
    )


def discriminator():
    return nn.Sequential(
        nn.Linear(64, 96),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Linear(96, 48),
        nn.LeakyReLU(0.2),
        nn.Dropout(0.3),
        nn.Linear(48, 1),
    )


def likeness(g, real):
    """How far means and spreads of the fake pixels are from those of real ones, both between -1 and 1."""
    g.eval()
    with torch.no_grad():
        fake = g(torch.randn(1000, LATENT))
    g.train()
    return -((fake.mean(0) - real.mean(0)).abs().mean() + (fake.std(0) - real.std(0)).abs().mean()).item()


def main(watch, faulty):
    x, _, xt, _ = digits()
    real_data = x * 16 if faulty else x * 2 - 1
    G, D = generator(), discriminator()
    opt_g = torch.optim.Adam(G.parameters(), lr=5e-4, betas=(0.5, 0.999))
    opt_d = torch.optim.Adam(D.parameters(), lr=5e-4, betas=(0.5, 0.999))
    bce = nn.BCEWithLogitsLoss()
    with watch(G, opt_g) as monitor:
        for epoch in range(40):
            for idx in torch.randperm(len(x)).split(70):
                real = real_data[idx]
                ones, zeros = torch.full((len(idx), 1), 0.9), torch.zeros(len(idx), 1)
                fake = G(torch.randn(len(idx), LATENT))

                opt_d.zero_grad()
                d_loss = bce(D(real), ones) + bce(D(fake.detach()), zeros)
                d_loss.backward()
                opt_d.step()

                opt_g.zero_grad()
                g_loss = bce(D(fake), torch.ones_like(ones))
                g_loss.backward()
                opt_g.step()
            monitor.log(epoch=epoch, d_loss=d_loss.item(), g_loss=g_loss.item())
    return likeness(G, xt * 2 - 1)
