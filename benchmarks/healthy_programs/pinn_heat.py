"""A physics-informed network for y'' = -y with y(0)=0, y'(0)=1: residual and boundary terms, no data at all."""

import torch
from torch import nn


def main(watch):
    net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    monitor = watch(net, optimizer)
    t0 = torch.zeros(1, 1, requires_grad=True)
    for it in range(1500):
        t = (torch.rand(64, 1) * 3.14).requires_grad_(True)
        y = net(t)
        dy = torch.autograd.grad(y, t, torch.ones_like(y), create_graph=True)[0]
        ddy = torch.autograd.grad(dy, t, torch.ones_like(dy), create_graph=True)[0]
        y0 = net(t0)
        dy0 = torch.autograd.grad(y0, t0, torch.ones_like(y0), create_graph=True)[0]
        loss_pde, loss_bc = ((ddy + y) ** 2).mean(), (y0**2).mean() + ((dy0 - 1) ** 2).mean()
        loss = loss_pde + 10 * loss_bc
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 150 == 0:
            monitor.log({"loss/pde": loss_pde.item(), "loss/boundary": loss_bc.item()})
    monitor.close()
    grid = torch.linspace(0, 3.14, 100)[:, None]
    with torch.no_grad():
        assert (net(grid) - grid.sin()).abs().max() < 0.15
