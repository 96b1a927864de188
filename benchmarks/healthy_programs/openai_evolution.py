"""Evolution strategy: no backward pass at all, gradients are estimates written into .grad by hand."""

import torch
from torch import nn


class Controller(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 1))

    def forward(self, s):
        return torch.tanh(self.net(s))


def swing(vector, shapes, angle, steps=40):
    """Hold a pendulum upright; all candidates at once; returns the mean of minus the cost."""
    w1, b1, w2, b2 = (
        p.view(len(vector), *s) for p, s in zip(vector.split([s.numel() for s in shapes], 1), shapes, strict=False)
    )
    angle = angle.expand(len(vector), -1)
    speed = torch.zeros_like(angle)
    cost = 0
    for _ in range(steps):
        s = torch.stack([angle.sin(), angle.cos() - 1, speed], -1)
        push = torch.tanh(torch.tanh(s @ w1.mT + b1[:, None]) @ w2.mT + b2[:, None]).squeeze(-1)
        speed = 0.98 * speed + 0.05 * (4 * angle.sin() + 8 * push)
        angle = angle + 0.05 * speed
        cost = cost + (1 - angle.cos()) + 0.01 * push**2
    return -cost.mean(1) / steps


def main(watch):
    policy = Controller()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.05)
    shapes = [p.shape for p in policy.parameters()]
    exam = torch.linspace(-0.8, 0.8, 30)[None]
    monitor = watch(policy, optimizer)
    generations, pairs, sigma = 250, 20, 0.1
    for generation in range(generations):
        theta = nn.utils.parameters_to_vector(policy.parameters()).detach()
        noise = torch.randn(pairs, len(theta))
        noise = torch.cat([noise, -noise])
        returns = swing(theta + sigma * noise, shapes, torch.rand(1, 12) * 1.6 - 0.8)
        advantage = (returns - returns.mean()) / (returns.std() + 1e-8)
        step = -(advantage[:, None] * noise).mean(0) / sigma
        for p, g in zip(policy.parameters(), step.split([s.numel() for s in shapes]), strict=False):
            p.grad = g.view_as(p).clone()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 0.05 * (1 - generation / generations)
        theta = nn.utils.parameters_to_vector(policy.parameters()).detach()
        score = swing(theta[None], shapes, exam).item()
        monitor.log({"reward": score, "generation": generation})
    monitor.close()
    assert score > -0.1, score
