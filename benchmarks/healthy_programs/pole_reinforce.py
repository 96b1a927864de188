"""Healthy: REINFORCE with entropy on a pole that must not fall; the loss wanders about zero, episodes get longer."""

import math

import torch
from torch import nn

FAMILY = "reinforcement"
EXPECTS = ()


class Poles:
    """Many upright poles at once; each ends when it leans too far."""

    def __init__(self, n):
        self.state = torch.empty(n, 4).uniform_(-0.05, 0.05)

    def step(self, action):
        x, v, a, w = self.state.unbind(1)
        force = torch.where(action == 1, 10.0, -10.0)
        temp = (force + 0.05 * w**2 * a.sin()) / 1.1
        acc = (9.8 * a.sin() - a.cos() * temp) / (0.5 * (4 / 3 - 0.1 * a.cos() ** 2 / 1.1))
        xacc = temp - 0.05 * acc * a.cos() / 1.1
        self.state = torch.stack([x + 0.02 * v, v + 0.02 * xacc, a + 0.02 * w, w + 0.02 * acc], 1)
        return (self.state[:, 0].abs() < 2.4) & (self.state[:, 2].abs() < 12 * math.pi / 180)


def main(watch):
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    monitor = watch(policy, optimizer)
    lengths = []
    for update in range(150):
        env, alive = Poles(16), torch.ones(16, dtype=torch.bool)
        logps, entropies, masks = [], [], []
        for _ in range(80):
            dist = torch.distributions.Categorical(logits=policy(env.state))
            action = dist.sample()
            logps.append(dist.log_prob(action))
            entropies.append(dist.entropy())
            masks.append(alive.float())
            alive = alive & env.step(action)
            if not alive.any():
                break
        mask = torch.stack(masks)
        togo = mask.flip(0).cumsum(0).flip(0)
        advantage = (togo - togo[mask > 0].mean()) / (togo[mask > 0].std() + 1e-6)
        policy_loss = -(torch.stack(logps) * advantage * mask).sum() / mask.sum()
        loss = policy_loss - 0.01 * (torch.stack(entropies) * mask).sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(mask.sum(0).mean().item())
        if update % 10 == 9:
            monitor.log(episode_length=sum(lengths[-10:]) / 10)
    monitor.close()
    assert sum(lengths[-20:]) / 20 > 55, lengths[-20:]
    return sum(lengths[-20:]) / 20
