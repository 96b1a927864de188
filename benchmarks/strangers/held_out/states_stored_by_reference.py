"""The environment changes its state array in place and hands it out; in the replay buffer all transitions of an
episode end up with the same state."""

import random
from collections import deque

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement learning"
EXPECTS = ("stuck-reward", "repeated-batches", "stalled-loss", "underfitting")


class Rover:
    """A rover on a line has to reach a flag and wait there; actions are left, stay, right."""

    def __init__(self, copy):
        self.copy = copy

    def reset(self):
        self.state = np.random.uniform(-1, 1, 2).astype(np.float32)
        self.t = 0
        return self._obs()

    def _obs(self):
        return self.state.copy() if self.copy else self.state

    def step(self, action):
        self.state[0] = np.clip(self.state[0] + 0.2 * (action - 1), -1.2, 1.2)
        self.t += 1
        return self._obs(), -float(abs(self.state[0] - self.state[1])), self.t == 15


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, s):
        return self.net(s)


def play(env, q, eps, buffer=None):
    s, done, total = env.reset(), False, 0.0
    while not done:
        if random.random() < eps:
            a = random.randrange(3)
        else:
            with torch.no_grad():
                a = int(q(torch.from_numpy(s)).argmax())
        s2, r, done = env.step(a)
        if buffer is not None:
            buffer.append((s, a, r, s2, done))
        s, total = s2, total + r
    return total


def learn(q, target, optimizer, buffer, gamma=0.9):
    s, a, r, s2, d = zip(*random.sample(buffer, 64), strict=False)
    s, s2 = torch.from_numpy(np.stack(s)), torch.from_numpy(np.stack(s2))
    a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d).float()
    with torch.no_grad():
        goal = r + gamma * target(s2).max(1).values  # the episode is only cut off, it does not end
    loss = F.smooth_l1_loss(q(s).gather(1, a[:, None]).squeeze(1), goal)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def main(watch, faulty):
    env = Rover(copy=not faulty)
    q, target = QNet(), QNet()
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
    buffer = deque(maxlen=4000)
    for _ in range(30):
        play(env, q, 1.0, buffer)
    with watch(q, optimizer) as monitor:
        for episode in range(150):
            eps = max(0.1, 1 - episode / 80)
            reward = play(env, q, eps, buffer)
            for _ in range(8):
                learn(q, target, optimizer, buffer)
            for t, p in zip(target.parameters(), q.parameters(), strict=False):
                t.data.lerp_(p.data, 0.1)
            if episode == 110:
                optimizer.param_groups[0]["lr"] = 2e-4
            monitor.log(episode=episode, reward=reward, epsilon=eps)
    return float(np.mean([play(env, q, 0.0) for _ in range(60)]))
