"""Sliced score matching on a mixture of Gaussians: second derivatives in the loss, which is negative and noisy."""

import torch
from torch import nn


def mixture(n):
    centre = torch.tensor([[-1.5, 0.0], [1.5, 0.0], [0.0, 1.5]])
    return centre[torch.randint(0, 3, (n,))] + 0.4 * torch.randn(n, 2)


def main(watch):
    net = nn.Sequential(nn.Linear(2, 96), nn.Softplus(), nn.Linear(96, 96), nn.Softplus(), nn.Linear(96, 2))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)

    def objective(x):
        x = x.requires_grad_()
        v = torch.randn_like(x)
        score = net(x)
        slope = torch.autograd.grad((score * v).sum(), x, create_graph=True)[0]
        return ((slope * v).sum(1) + 0.5 * (score * v).sum(1) ** 2).mean()

    with watch(net, opt) as monitor:
        for step in range(2000):
            loss = objective(mixture(256))
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 200 == 199:
                monitor.log(test_objective=objective(mixture(2000)).item())
    points = torch.tensor([[-1.5, 0.5], [1.5, 0.5], [0.0, 2.0]])
    with torch.no_grad():
        assert (net(points)[:, 1] < 0).all()  # back towards the centres
