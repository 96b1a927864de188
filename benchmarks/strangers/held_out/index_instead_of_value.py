"""DQN whose target takes the index of the best action, max(1)[1], where its value was meant."""

import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = (
    "worsening-metric",
    "stalled-loss",
    "oscillating-loss",
    "noisy-loss",
    "diverging-loss",
    "loss-without-accuracy",
)
SIZE, GOAL = 5, (4, 4)


def state(pos):
    v = torch.zeros(SIZE * SIZE)
    v[pos[0] * SIZE + pos[1]] = 1
    return v


def move(pos, action):
    d = [(0, 1), (1, 0), (0, -1), (-1, 0)][action]
    new = (min(max(pos[0] + d[0], 0), SIZE - 1), min(max(pos[1] + d[1], 0), SIZE - 1))
    return new, (1.0 if new == GOAL else -0.02), new == GOAL


def main(watch, faulty):
    q = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))
    target = nn.Sequential(nn.Linear(25, 64), nn.ReLU(), nn.Linear(64, 4))
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    memory, steps, returns = deque(maxlen=5000), 0, []
    with watch(q, opt) as monitor:
        for episode in range(150):
            pos, total = (0, 0), 0.0
            eps = max(0.05, 1 - episode / 80)
            for _ in range(40):
                s = state(pos)
                with torch.no_grad():
                    a = random.randrange(4) if random.random() < eps else int(q(s).argmax())
                pos, r, done = move(pos, a)
                total += r
                memory.append((s, a, r, state(pos), float(done)))
                if len(memory) >= 64:
                    S, A, R, N, D = zip(*random.sample(memory, 64), strict=True)
                    best = target(torch.stack(N)).max(1)[1 if faulty else 0].detach()
                    y = torch.tensor(R) + 0.95 * best * (1 - torch.tensor(D))
                    now = q(torch.stack(S)).gather(1, torch.tensor(A).view(-1, 1)).squeeze(1)
                    loss = F.smooth_l1_loss(now, y)
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                steps += 1
                if steps % 200 == 0:
                    target.load_state_dict(q.state_dict())
                if done:
                    break
            returns.append(total)
            monitor.log(episode_return=total, epsilon=eps)
    return sum(returns[-20:]) / 20
