"""Evolution strategy: the update multiplies the returns with freshly drawn noise and not with the noise that earned
them."""

import torch
from torch import nn

FAMILY = "evolution strategy"
EXPECTS = ("stuck-reward", "stuck-from-start", "noisy-loss", "stalled-loss", "worsening-metric", "loss-at-chance")


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2), nn.Tanh())

    def forward(self, state):
        return self.net(state)


def episode_return(weights, shapes, starts, horizon=25):
    """Steer a point mass to the origin; all members of the population at once."""
    parts, at = [], 0
    for shape in shapes:
        n = shape.numel()
        parts.append(weights[:, at : at + n].view(-1, *shape))
        at += n
    w1, b1, w2, b2 = parts
    pos, vel = starts.expand(len(weights), -1, -1), torch.zeros(len(weights), *starts.shape[1:])
    total = 0.0
    for _ in range(horizon):
        state = torch.cat([pos, vel], -1)
        hidden = torch.tanh(state @ w1.transpose(1, 2) + b1[:, None])
        push = torch.tanh(hidden @ w2.transpose(1, 2) + b2[:, None])
        vel = 0.9 * vel + 0.2 * push
        pos = pos + vel
        total = total - pos.pow(2).sum(-1) - 0.05 * push.pow(2).sum(-1)
    return total.mean(1) / horizon


def main(watch, faulty):
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.03)
    shapes = [p.shape for p in policy.parameters()]
    sigma, half, generations = 0.1, 24, 300
    exam = torch.randn(1, 40, 2)
    monitor = watch(policy, optimizer)
    for generation in range(generations):
        theta = nn.utils.parameters_to_vector(policy.parameters()).detach()
        noise = torch.randn(half, len(theta))
        noise = torch.cat([noise, -noise])
        returns = episode_return(theta + sigma * noise, shapes, torch.randn(1, 8, 2))
        rank = returns.argsort().argsort().float() / (2 * half - 1) - 0.5
        if faulty:
            noise = torch.randn(half, len(theta))
            noise = torch.cat([noise, -noise])
        estimate = (rank[:, None] * noise).mean(0) / sigma
        optimizer.zero_grad()
        at = 0
        for p in policy.parameters():
            p.grad = -estimate[at : at + p.numel()].view_as(p)
            at += p.numel()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = 0.03 * (1 - generation / generations)
        theta = nn.utils.parameters_to_vector(policy.parameters()).detach()
        score = episode_return(theta[None], shapes, exam).item()
        if generation % 10 == 9:
            monitor.log(generation=generation, reward=score, population_mean=returns.mean().item())
    monitor.close()
    return score
