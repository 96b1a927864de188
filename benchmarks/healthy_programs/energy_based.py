"""An energy-based model of points on a ring: Langevin samples from a buffer against data, energies near zero."""

import math

import torch
from torch import nn


def ring(n):
    angle = 2 * math.pi * torch.rand(n)
    return torch.stack([angle.cos(), angle.sin()], 1) * (1 + 0.05 * torch.randn(n, 1))


def langevin(model, x, steps=20):
    for p in model.parameters():
        p.requires_grad_(False)
    x = x.clone()
    for _ in range(steps):
        x.requires_grad_(True)
        slope = torch.autograd.grad(model(x).sum(), x)[0]
        x = (x - 0.02 * slope.clamp(-5, 5) + 0.1 * torch.randn_like(x)).detach()
    for p in model.parameters():
        p.requires_grad_(True)
    return x.clamp(-3, 3)


def main(watch):
    model = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    buffer = 4 * torch.rand(2000, 2) - 2
    for step in range(500):
        i = torch.randint(2000, (128,))
        start = torch.where(torch.rand(128, 1) < 0.05, 4 * torch.rand(128, 2) - 2, buffer[i])
        fake = langevin(model, start)
        buffer[i] = fake
        real = ring(128)
        e_real, e_fake = model(real), model(fake)
        loss = (e_real - e_fake).mean() + 0.1 * (e_real**2 + e_fake**2).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            monitor.log(energy_real=e_real.mean().item(), energy_fake=e_fake.mean().item())
    monitor.close()
    with torch.no_grad():
        inside, on, outside = (
            model(torch.zeros(1, 2)).item(),
            model(ring(500)).mean().item(),
            model(2 * ring(500)).mean(),
        )
    assert on < inside
    assert on < outside.item()
