"""Advantage actor-critic with two optimizers on a contextual bandit with digits as contexts."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
        self.critic = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    net = ActorCritic()
    opt_a = torch.optim.Adam(net.actor.parameters(), lr=3e-3)
    opt_c = torch.optim.Adam(net.critic.parameters(), lr=3e-3)
    m = watch(net, [opt_a, opt_c])
    history = []
    for step in range(800):
        idx = torch.randint(0, len(X), (64,))
        dist = torch.distributions.Categorical(logits=net.actor(X[idx]))
        action = dist.sample()
        reward = (action == y[idx]).float()
        value = net.critic(X[idx]).squeeze(-1)
        critic_loss = F.mse_loss(value, reward)
        opt_c.zero_grad()
        critic_loss.backward()
        opt_c.step()
        actor_loss = -(dist.log_prob(action) * (reward - value.detach())).mean() - 0.01 * dist.entropy().mean()
        opt_a.zero_grad()
        actor_loss.backward()
        opt_a.step()
        history.append(reward.mean().item())
        if (step + 1) % 20 == 0:
            m.log(reward=sum(history[-20:]) / 20)
    m.close()
    assert sum(history[-50:]) / 50 > 0.7
