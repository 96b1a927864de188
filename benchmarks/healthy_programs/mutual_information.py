"""MINE: a critic raises a lower bound of the mutual information of two signals; the loss is its negative."""

import math

import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * d, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, a, b):
        return self.net(torch.cat([a, b], 1)).squeeze(1)


def signals(n, rho=0.8, d=2):
    a = torch.randn(n, d)
    return a, rho * a + math.sqrt(1 - rho**2) * torch.randn(n, d)


def bound(critic, a, b):
    """Nguyen, Wainwright and Jordan's bound, with the shuffled batch as independent pairs."""
    joint = critic(a, b)
    apart = critic(a, b[torch.randperm(len(b))])
    return joint.mean() - (apart.exp().mean() - 1)


def main(watch):
    truth = -2 * 0.5 * math.log(1 - 0.8**2)
    critic = Critic(2)
    optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    steps = 1000
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    held = signals(4000)
    with watch(critic, optimizer) as monitor:
        for step in range(steps):
            loss = -bound(critic, *signals(256))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(critic.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            if step % 100 == 99:
                with torch.no_grad():
                    estimate = bound(critic, *held).item()
                monitor.log(val_loss=-estimate, step=step)
    assert 0.6 * truth < estimate < 1.3 * truth, (estimate, truth)
