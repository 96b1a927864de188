"""A policy gradient whose entropy bonus has the coefficient of another reward scale: staying random pays more than
anything the task could give."""

import torch
from torch import nn

FAMILY = "reinforcement"
EXPECTS = (
    "stuck-reward",
    "unbalanced-loss-parts",
    "loss-without-accuracy",
    "stuck-from-start",
    "stalled-loss",
    "loss-at-chance",
)


class Corridor:
    """Sixty-four walkers on a line of eleven places: right is better, and it pays at the end."""

    def __init__(self, n=64):
        self.at = torch.full((n,), 5)

    def observation(self):
        return torch.nn.functional.one_hot(self.at, 11).float()

    def step(self, action):
        self.at = (self.at + torch.where(action == 0, -1, 1)).clamp(0, 10)
        reward = (self.at == 10).float() - 0.02
        self.at = torch.where((self.at == 10) | (self.at == 0), 5, self.at)
        return reward


def main(watch, faulty):
    env = Corridor()
    policy = nn.Sequential(nn.Linear(11, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    with watch(policy, optimizer) as monitor:
        for update in range(250):
            logs, rewards, entropies = [], [], []
            for _ in range(24):
                choice = torch.distributions.Categorical(logits=policy(env.observation()))
                action = choice.sample()
                logs.append(choice.log_prob(action))
                entropies.append(choice.entropy())
                rewards.append(env.step(action))
            total, returns = torch.zeros(64), []
            for reward in reversed(rewards):
                total = reward + 0.9 * total
                returns.append(total)
            returns = torch.stack(returns[::-1])
            advantage = returns - returns.mean()
            loss = -(torch.stack(logs) * advantage).mean() - (5.0 if faulty else 0.01) * torch.stack(entropies).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if update % 10 == 9:
                monitor.log(reward=torch.stack(rewards).sum(0).mean().item())
    return torch.stack(rewards).sum(0).mean().item()
