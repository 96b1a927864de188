"""A plain GAN on two moons: non-saturating loss, two Adams with beta1 of 0.5, as in the DCGAN tutorial."""

import numpy as np
import torch
from sklearn.datasets import make_moons
from torch import nn


def main(watch):
    data = torch.tensor(make_moons(4000, noise=0.05)[0], dtype=torch.float32)
    data = (data - data.mean(0)) / data.std(0)
    G = nn.Sequential(nn.Linear(8, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2))
    D = nn.Sequential(nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))
    optG = torch.optim.Adam(G.parameters(), lr=1e-3, betas=(0.5, 0.999))
    optD = torch.optim.Adam(D.parameters(), lr=1e-3, betas=(0.5, 0.999))
    criterion = nn.BCEWithLogitsLoss()
    monitor = watch(nn.ModuleDict({"G": G, "D": D}), [optD, optG])

    def spread():
        with torch.no_grad():
            fake = G(torch.randn(1000, 8)).numpy()
        near = np.sqrt(((data[:300, None].numpy() - fake[None]) ** 2).sum(-1)).min(1)
        return float(near.mean())

    before = spread()
    for _epoch in range(8):
        for real in torch.randperm(len(data)).split(64):
            real = data[real]
            b = len(real)
            D.zero_grad()
            lossD_real = criterion(D(real), torch.ones(b, 1))
            lossD_real.backward()
            fake = G(torch.randn(b, 8))
            lossD_fake = criterion(D(fake.detach()), torch.zeros(b, 1))
            lossD_fake.backward()
            optD.step()
            G.zero_grad()
            lossG = criterion(D(fake), torch.ones(b, 1))
            lossG.backward()
            optG.step()
        monitor.log({"Loss_D": (lossD_real + lossD_fake).item(), "Loss_G": lossG.item(), "coverage_distance": spread()})
    monitor.close()
    assert spread() < 0.5 * before
