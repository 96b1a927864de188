"""Healthy: Q-learning whose loss rises for a good while, because there is more and more to predict."""

import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = ()
LENGTH = 16


def encode(pos):
    return F.one_hot(torch.tensor(pos), LENGTH).float()


@torch.no_grad()
def rollout(q):
    pos, total = LENGTH // 2, 0.0
    for _ in range(40):
        pos = pos + (1 if q(encode(pos)).argmax() == 1 else -1)
        if pos <= 0:
            return total + 0.1
        if pos >= LENGTH - 1:
            return total + 10.0
        total -= 0.02
    return total


def main(watch):
    q = nn.Sequential(nn.Linear(LENGTH, 64), nn.ReLU(), nn.Linear(64, 2))
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=5e-4)
    monitor = watch(q, optimizer)
    memory, pos = [], LENGTH // 2
    for frame in range(4500):
        eps = max(0.15, 1 - frame / 3000)
        with torch.no_grad():
            action = random.randrange(2) if random.random() < eps else int(q(encode(pos)).argmax())
        new = pos + (1 if action == 1 else -1)
        done = new <= 0 or new >= LENGTH - 1
        reward = 10.0 if new >= LENGTH - 1 else 0.1 if new <= 0 else -0.02
        memory.append((pos, action, reward, new, float(done)))
        memory = memory[-3000:]
        pos = LENGTH // 2 if done else new
        if frame < 200 or frame % 4:
            continue
        s, a, r, n, d = (torch.tensor(v) for v in zip(*random.sample(memory, 32), strict=False))
        with torch.no_grad():
            goal = r + 0.97 * (1 - d) * target(F.one_hot(n.clamp(0, LENGTH - 1), LENGTH).float()).max(1).values
        loss = F.mse_loss(q(F.one_hot(s, LENGTH).float()).gather(1, a[:, None]).squeeze(1), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if frame % 100 == 0:
            target.load_state_dict(q.state_dict())
            monitor.log(eval_return=rollout(q), epsilon=eps)
    monitor.close()
    assert rollout(q) > 5, rollout(q)
    return rollout(q)
