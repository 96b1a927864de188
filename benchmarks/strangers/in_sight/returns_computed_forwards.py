"""Actor and critic on a pole: the discounted returns are summed from the first step to the last, so an action is
credited with what came before it."""

import math

import torch
from torch import nn

FAMILY = "reinforcement"
# What is wrong shows only in the return: it stays, or gets worse, while the losses look as they do in any such run.
EXPECTS = ("worsening-metric", "metric-loss-disagreement", "loss-without-accuracy", "stalled-loss")


def physics(state, action):
    x, v, a, w = state.unbind(1)
    force = torch.where(action == 1, 10.0, -10.0)
    temp = (force + 0.05 * w**2 * a.sin()) / 1.1
    acc = (9.8 * a.sin() - a.cos() * temp) / (0.5 * (4 / 3 - 0.1 * a.cos() ** 2 / 1.1))
    xacc = temp - 0.05 * acc * a.cos() / 1.1
    state = torch.stack([x + 0.02 * v, v + 0.02 * xacc, a + 0.02 * w, w + 0.02 * acc], 1)
    return state, (state[:, 0].abs() < 2.4) & (state[:, 2].abs() < 12 * math.pi / 180)


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 48), nn.Tanh())
        self.actor, self.critic = nn.Linear(48, 2), nn.Linear(48, 1)

    def forward(self, s):
        h = self.body(s)
        return torch.distributions.Categorical(logits=self.actor(h)), self.critic(h).squeeze(1)


def discounted(rewards, gamma, forwards):
    total, out = torch.zeros_like(rewards[0]), []
    for reward in rewards if forwards else reversed(rewards):
        total = reward + gamma * total
        out.append(total)
    return torch.stack(out if forwards else out[::-1])


def main(watch, faulty):
    model = ActorCritic()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    monitor = watch(model, optimizer)
    lengths = []
    for update in range(200):
        state, alive = torch.empty(16, 4).uniform_(-0.05, 0.05), torch.ones(16, dtype=torch.bool)
        logps, values, rewards = [], [], []
        for _ in range(60):
            dist, value = model(state)
            action = dist.sample()
            logps.append(dist.log_prob(action))
            values.append(value)
            rewards.append(alive.float())
            state, up = physics(state, action)
            alive = alive & up
            if not alive.any():
                break
        mask = torch.stack(rewards)
        returns = discounted(rewards, 0.97, faulty) / 10
        value = torch.stack(values)
        advantage = (returns - value).detach()
        actor_loss = -(torch.stack(logps) * advantage * mask).sum() / mask.sum()
        critic_loss = ((value - returns) ** 2 * mask).sum() / mask.sum()
        loss = actor_loss + 0.5 * critic_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        lengths.append(mask.sum(0).mean().item())
        if update % 10 == 9:
            monitor.log(episode_reward=sum(lengths[-10:]) / 10, critic_loss=critic_loss.item())
    monitor.close()
    return sum(lengths[-20:]) / 20
