"""A physics-informed network whose boundary term weighs a millionth: it solves the equation with zero everywhere."""

import torch
from torch import nn

FAMILY = "physics-informed"
EXPECTS = ("unbalanced-loss-parts", "nothing-generalises", "loss-without-accuracy", "suspiciously-perfect",
           "collapsed-activations", "metric-loss-disagreement", "stuck-from-start")  # fmt: skip


def main(watch, faulty):
    # u'' = -u with u(0) = 1 and u(3) = cos 3
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    weight = 1e-6 if faulty else 1.0
    ends = torch.tensor([[0.0], [3.0]])
    grid = torch.linspace(0, 3, 100)[:, None]
    with watch(net, optimizer) as monitor:
        for step in range(1500):
            x = (torch.rand(64, 1) * 3).requires_grad_()
            u = net(x)
            du = torch.autograd.grad(u.sum(), x, create_graph=True)[0]
            ddu = torch.autograd.grad(du.sum(), x, create_graph=True)[0]
            loss = (ddu + u).pow(2).mean() + weight * (net(ends) - ends.cos()).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 99:
                with torch.no_grad():
                    error = (net(grid) - grid.cos()).pow(2).mean().sqrt().item()
                monitor.log(error_against_exact=error)
    return -error
