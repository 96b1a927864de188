"""A mixture density network on a curve that folds back: the loss is a density and ends below zero."""

import torch
import torch.nn.functional as F
from torch import nn


def main(watch):
    y = torch.rand(3000, 1) * 2 - 1
    x = 0.7 * torch.sin(4 * y) + 0.4 * y + 0.05 * torch.randn_like(y)
    net = nn.Sequential(nn.Linear(1, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 15))
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)

    def nll(x, y):
        weight, mean, log_std = net(x).chunk(3, 1)
        log_p = torch.distributions.Normal(mean, F.softplus(log_std) + 0.02).log_prob(y)
        return -torch.logsumexp(F.log_softmax(weight, 1) + log_p, 1).mean()

    with watch(net, opt) as monitor:
        for _ in range(40):
            for i in torch.randperm(2500).split(100):
                loss = nll(x[i], y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = nll(x[2500:], y[2500:]).item()
            monitor.log(val_nll=val)
    assert val < 0.3
