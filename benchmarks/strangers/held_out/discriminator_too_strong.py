"""A saturating generator loss, log(1 - D), with a discriminator trained at fifty times the generator's rate."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "generative"
EXPECTS = (
    "vanishing-gradient",
    "faded-gradient",
    "suspiciously-perfect",
    "undersized-update",
    "unbounded-negative-loss",
    "stuck-from-start",
)


def main(watch, faulty):
    gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
    dis = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    opt_g = torch.optim.SGD(gen.parameters(), lr=0.05)
    opt_d = torch.optim.Adam(dis.parameters(), lr=1e-2 if faulty else 5e-4)
    monitor = watch(nn.ModuleDict({"gen": gen, "dis": dis}), [opt_d, opt_g])
    for step in range(600):
        real = torch.randn(64, 2) * 0.3 + 4
        fake = gen(torch.randn(64, 4))
        d_loss = F.softplus(-dis(real)).mean() + F.softplus(dis(fake.detach())).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        g_loss = -F.softplus(dis(fake)).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if step % 60 == 59:
            monitor.log(d_loss=d_loss.item(), g_loss=g_loss.item())
    monitor.close()
    return -(gen(torch.randn(500, 4)).mean(0) - 4).norm().item()
