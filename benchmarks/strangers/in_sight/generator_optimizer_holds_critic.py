"""A GAN whose second optimizer was built from the discriminator's parameters: the generator is never trained."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "generative"
EXPECTS = ("uncovered-parameter", "unmoved-parameter", "stale-optimizer")


def main(watch, faulty):
    gen = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 2))
    dis = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
    opt_d = torch.optim.Adam(dis.parameters(), lr=1e-3, betas=(0.5, 0.999))
    opt_g = torch.optim.Adam((dis if faulty else gen).parameters(), lr=1e-3, betas=(0.5, 0.999))
    monitor = watch(nn.ModuleDict({"gen": gen, "dis": dis}), [opt_d, opt_g])
    for step in range(500):
        real = torch.randn(64, 2) * 0.3 + torch.tensor([2.0, -1.0])
        fake = gen(torch.randn(64, 4))
        d_loss = F.softplus(-dis(real)).mean() + F.softplus(dis(fake.detach())).mean()
        opt_d.zero_grad()
        d_loss.backward()
        opt_d.step()
        g_loss = F.softplus(-dis(fake)).mean()
        opt_g.zero_grad()
        g_loss.backward()
        opt_g.step()
        if step % 50 == 49:
            monitor.log(d_loss=d_loss.item(), g_loss=g_loss.item())
    monitor.close()
    return -(gen(torch.randn(500, 4)).mean(0) - torch.tensor([2.0, -1.0])).norm().item()
