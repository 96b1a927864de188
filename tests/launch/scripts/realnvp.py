"""A normalising flow: negative log-likelihood, which may well fall below zero."""

import sys

import torch
from torch import nn

torch.manual_seed(0)


class RealNVP(nn.Module):
    def __init__(self, masks):
        super().__init__()
        self.register_buffer("mask", masks)

        def net(last):
            return nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(), nn.Linear(32, 2), last)

        self.t = nn.ModuleList([net(nn.Identity()) for _ in masks])
        self.s = nn.ModuleList([net(nn.Tanh()) for _ in masks])

    def log_prob(self, x):
        log_det, z = x.new_zeros(len(x)), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s, t = self.s[i](z_) * (1 - self.mask[i]), self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det -= s.sum(1)
        return -0.5 * z.pow(2).sum(1) - 1.8379 + log_det


flow = RealNVP(torch.tensor([[0.0, 1.0], [1.0, 0.0]] * 2))
optimizer = torch.optim.Adam(flow.parameters(), lr=2e-3)
for step in range(200):
    angle = torch.rand(128) * 3.1416
    x = torch.stack([angle.cos(), angle.sin()], 1) + 0.1 * torch.randn(128, 2)
    loss = -flow.log_prob(x).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=True)
    optimizer.step()
torch.save(flow.state_dict(), sys.argv[1])
