"""The critic's gradient penalty is computed without create_graph: it is added to the loss and changes nothing."""

import torch
from torch import nn

FAMILY = "gradient penalty"
EXPECTS = (
    "diverging-loss",
    "runaway-weights",
    "exploding-gradient",
    "unbalanced-loss-parts",
    "growing-activations",
    "unbounded-negative-loss",
)


class Critic(nn.Module):
    """Estimates how far this year's customers have moved from last year's (earth mover's distance)."""

    def __init__(self, d, width=64):
        super().__init__()
        self.f = nn.Sequential(
            nn.Linear(d, width), nn.LeakyReLU(0.2), nn.Linear(width, width), nn.LeakyReLU(0.2), nn.Linear(width, 1)
        )

    def forward(self, x):
        return self.f(x).squeeze(1)


def gradient_penalty(critic, a, b, create_graph):
    mix = torch.rand(len(a), 1)
    x = (mix * a + (1 - mix) * b).requires_grad_()
    (grad,) = torch.autograd.grad(critic(x).sum(), x, create_graph=create_graph)
    return ((grad.norm(dim=1) - 1).clamp(min=0) ** 2).mean()


def main(watch, faulty):
    shift = torch.randn(6)
    shift = 2.0 * shift / shift.norm()

    def last_year(n):
        return torch.randn(n, 6)

    def this_year(n):
        return torch.randn(n, 6) + shift

    critic = Critic(6)
    optimizer = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.9))
    steps = 700
    sched = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    held = last_year(2000), this_year(2000)
    with watch(critic, optimizer) as monitor:
        for step in range(steps):
            a, b = last_year(128), this_year(128)
            distance = critic(b).mean() - critic(a).mean()
            loss = -distance + 10 * gradient_penalty(critic, a, b, create_graph=not faulty)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sched.step()
            if step % 35 == 34:
                with torch.no_grad():
                    estimate = (critic(held[1]).mean() - critic(held[0]).mean()).item()
                monitor.log(step=step, train_loss=loss.item(), val_distance=estimate)
    return -min(abs(estimate - 2.0), 100.0)
