"""A Hamiltonian network: the loss is on derivatives of the network by its inputs."""

import torch
from torch import nn


class HNN(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(2, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, z):
        with torch.enable_grad():
            z = z.detach().requires_grad_()
            (g,) = torch.autograd.grad(self.h(z).sum(), z, create_graph=True)
        return torch.stack([g[:, 1], -g[:, 0]], 1)


def pendulum(n, noise=0.05):
    z = (torch.rand(n, 2) - 0.5) * torch.tensor([4.0, 4.0])
    field = torch.stack([z[:, 1], -1.5 * torch.sin(z[:, 0])], 1)
    return z, field + noise * torch.randn(n, 2)


def main(watch):
    z, field = pendulum(1500)
    zv, fv = pendulum(400, noise=0.0)
    model = HNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    epochs = 25
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            for rows in torch.randperm(len(z)).split(50):
                loss = ((model(z[rows]) - field[rows]) ** 2).mean()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            schedule.step()
            val = ((model(zv).detach() - fv) ** 2).mean().item()
            monitor.log(epoch=epoch, val_loss=val)
    assert val < 0.02 * fv.var().item(), val
