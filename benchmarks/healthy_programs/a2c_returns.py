"""Advantage actor-critic with shared body on a grid walk, entropy bonus, returns to the end of the episode."""

import torch
import torch.nn.functional as F
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.policy, self.value = nn.Linear(10, 64), nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, x):
        h = F.relu(self.body(x))
        return F.softmax(self.policy(h), dim=-1), self.value(h)


MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])


def observe(at):
    return torch.cat([F.one_hot(at[0], 5), F.one_hot(at[1], 5)]).float()


def main(watch):
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    monitor = watch(model, optimizer)
    running, first = None, None
    for episode in range(400):
        at, log_probs, values, rewards, entropies = torch.tensor([0, 0]), [], [], [], []
        for _ in range(30):
            probs, value = model(observe(at))
            m = torch.distributions.Categorical(probs)
            action = m.sample()
            log_probs.append(m.log_prob(action))
            values.append(value[0])
            entropies.append(m.entropy())
            at = (at + MOVES[action]).clamp(0, 4)
            done = bool((at == 4).all())
            rewards.append(1.0 if done else -0.05)
            if done:
                break
        returns, R = [], 0.0
        for r in rewards[::-1]:
            R = r + 0.97 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        values = torch.stack(values)
        advantage = returns - values.detach()
        policy_loss = -(torch.stack(log_probs) * advantage).sum()
        loss = policy_loss + F.smooth_l1_loss(values, returns, reduction="sum") - 0.01 * torch.stack(entropies).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running = sum(rewards) if running is None else 0.05 * sum(rewards) + 0.95 * running
        first = running if episode == 30 else first
        if episode % 10 == 0:
            monitor.log(running_reward=running)
    monitor.close()
    assert running > 0
