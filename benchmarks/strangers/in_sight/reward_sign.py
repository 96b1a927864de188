"""REINFORCE with the sign of the loss reversed: the reward falls to its worst while the loss looks perfect."""

import torch
from torch import nn

FAMILY = "reinforcement"
EXPECTS = ("worsening-metric", "metric-loss-disagreement", "unbounded-negative-loss", "lost-progress")


def main(watch, faulty):
    policy = nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 4))
    best = torch.randn(6, 4)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    monitor = watch(policy, optimizer)
    recent = []
    for step in range(700):
        state = torch.randn(64, 6)
        dist = torch.distributions.Categorical(logits=policy(state))
        action = dist.sample()
        reward = ((state @ best).argmax(1) == action).float()
        gain = dist.log_prob(action) * (reward - reward.mean())
        loss = gain.mean() if faulty else -gain.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(reward.mean().item())
        if step % 20 == 19:
            monitor.log(mean_reward=sum(recent[-20:]) / 20)
    monitor.close()
    return sum(recent[-50:]) / 50
