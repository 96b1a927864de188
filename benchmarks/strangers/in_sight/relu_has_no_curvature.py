"""A physics-informed network for u'' = f with ReLU: its second derivative is zero everywhere, so the equation has no
gradient."""

import math

import torch
import torch.nn as nn

FAMILY = "physics-informed"
EXPECTS = ("stalled-loss", "loss-at-chance", "stuck-from-start", "faded-gradient", "vanishing-gradient")


class PINN(nn.Module):
    def __init__(self, act):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 32), act(), nn.Linear(32, 32), act(), nn.Linear(32, 1))

    def forward(self, x):
        return self.layers(x)


def derivative(u, x):
    return torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]


def solution(x):
    return torch.sin(math.pi * x) + 0.3 * torch.sin(2 * math.pi * x)


def source(x):
    return -(math.pi**2) * torch.sin(math.pi * x) - 0.3 * 4 * math.pi**2 * torch.sin(2 * math.pi * x)


def main(watch, faulty):
    model = PINN(nn.ReLU if faulty else nn.Tanh)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    steps = 1400
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    edge = torch.tensor([[-1.0], [1.0]])
    xt = torch.linspace(-1, 1, 101)[:, None]
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            x = (torch.rand(100, 1) * 2 - 1).requires_grad_(True)
            u = model(x)
            residual = derivative(derivative(u, x), x) - source(x)
            loss_pde = (residual**2).mean() / 50
            loss_edge = (model(edge) ** 2).mean()
            loss = loss_pde + 5 * loss_edge
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            if step % 100 == 99:
                with torch.no_grad():
                    error = ((model(xt) - solution(xt)) ** 2).mean().sqrt().item()
                monitor.log(step=step, pde=loss_pde.item(), edge=loss_edge.item(), val_rmse=error)
    return -error
