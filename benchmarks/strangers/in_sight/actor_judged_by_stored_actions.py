"""DDPG: the actor's loss asks the critic about the actions in the buffer instead of the actor's own, so the actor
has no part in it."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "reinforcement learning"
EXPECTS = ("step-without-gradient", "silent-parameter", "stuck-reward", "stuck-from-start")


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(2, 48), nn.Linear(48, 48)
        self.l3 = nn.Linear(48, 1)

    def forward(self, s):
        return torch.tanh(self.l3(F.relu(self.l2(F.relu(self.l1(s))))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(3, 48), nn.Linear(48, 48)
        self.l3 = nn.Linear(48, 1)

    def forward(self, s, a):
        return self.l3(F.relu(self.l2(F.relu(self.l1(torch.cat([s, a], 1)))))).squeeze(1)


def env_step(s, a):
    """A valve (first number) has to follow a set point (second number)."""
    level = np.clip(s[:, :1] + 0.3 * np.clip(a, -1, 1), -1.3, 1.3)
    nxt = np.concatenate([level, s[:, 1:]], 1).astype(np.float32)
    reward = -np.abs(level - s[:, 1:])[:, 0] - 0.02 * (a[:, 0] ** 2)
    return nxt, reward.astype(np.float32)


def rollout(actor, noise, n=8, length=12):
    s = np.random.uniform(-1, 1, (n, 2)).astype(np.float32)
    out, total = [], 0.0
    for _ in range(length):
        with torch.no_grad():
            a = actor(torch.from_numpy(s)).numpy()
        a = np.clip(a + noise * np.random.randn(*a.shape), -1, 1).astype(np.float32)
        s2, r = env_step(s, a)
        out.append((s, a, r, s2))
        total += r.mean()
        s = s2
    return [np.concatenate(part) for part in zip(*out, strict=False)], total


def main(watch, faulty):
    actor, critic = Actor(), Critic()
    actor_target, critic_target = Actor(), Critic()
    actor_target.load_state_dict(actor.state_dict())
    critic_target.load_state_dict(critic.state_dict())
    actor_optimizer = torch.optim.Adam(actor.parameters(), lr=5e-4)
    critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
    memory, gamma, tau = None, 0.8, 0.02
    with watch(actor, actor_optimizer) as monitor:
        for it in range(120):
            data, reward = rollout(actor, noise=0.5)
            memory = memory or [each[:0] for each in data]
            memory = [np.concatenate([m, d])[-6000:] for m, d in zip(memory, data, strict=True)]
            for _ in range(8):
                idx = np.random.randint(0, len(memory[0]), 64)
                s, a, r, s2 = (torch.from_numpy(m[idx]) for m in memory)
                with torch.no_grad():
                    goal = r + gamma * critic_target(s2, actor_target(s2))
                critic_loss = F.mse_loss(critic(s, a), goal)
                critic_optimizer.zero_grad()
                critic_loss.backward()
                critic_optimizer.step()

                actor_loss = -critic(s, a if faulty else actor(s)).mean()
                actor_optimizer.zero_grad()
                actor_loss.backward()
                actor_optimizer.step()
                for net, slow in ((actor, actor_target), (critic, critic_target)):
                    for p, q in zip(net.parameters(), slow.parameters(), strict=False):
                        q.data.mul_(1 - tau).add_(p.data, alpha=tau)
            monitor.log(iteration=it, reward=float(reward), critic_loss=critic_loss.item())
    return float(np.mean([rollout(actor, 0.0)[1] for _ in range(10)]))
