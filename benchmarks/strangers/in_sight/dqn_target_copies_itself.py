"""Q-learning whose target network is refreshed from itself, so that it keeps its first random weights."""

import copy
import random

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
# No rule knows a target network; the TD loss falls while the return does not follow.
EXPECTS = ("stuck-reward", "loss-without-accuracy", "metric-loss-disagreement", "worsening-metric", "stalled-loss")

SIZE = 7
GOAL = (6, 6)
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def encode(pos):
    out = torch.zeros(2 * SIZE)
    out[pos[0]] = 1
    out[SIZE + pos[1]] = 1
    return out


def step(pos, action):
    dx, dy = MOVES[action]
    new = (min(max(pos[0] + dx, 0), SIZE - 1), min(max(pos[1] + dy, 0), SIZE - 1))
    done = new == GOAL
    return new, (1.0 if done else -0.02), done


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * SIZE, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def evaluate(q):
    total = 0.0
    for start in range(12):
        pos = (start % 4, start // 4)
        for _ in range(25):
            pos, reward, done = step(pos, q(encode(pos)).argmax().item())
            total += reward
            if done:
                break
    return total / 12


def main(watch, faulty):
    q = QNet()
    target = copy.deepcopy(q)
    optimizer = torch.optim.Adam(q.parameters(), lr=1e-3)
    monitor = watch(q, optimizer)
    buffer, pos, age, eps = [], (0, 0), 0, 1.0
    returns = []
    for frame in range(6000):
        eps = max(0.1, 1 - frame / 4000)
        with torch.no_grad():
            action = random.randrange(4) if random.random() < eps else q(encode(pos)).argmax().item()
        new, reward, done = step(pos, action)
        buffer.append((encode(pos), action, reward, encode(new), float(done)))
        buffer = buffer[-4000:]
        age += 1
        pos, age = ((random.randrange(4), random.randrange(4)), 0) if done or age > 60 else (new, age)
        if frame < 500 or frame % 5:
            continue
        s, a, r, n, d = zip(*random.sample(buffer, 64), strict=False)
        s, n = torch.stack(s), torch.stack(n)
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d)
        with torch.no_grad():
            expected = r + 0.95 * (1 - d) * target(n).max(1).values
        loss = F.smooth_l1_loss(q(s).gather(1, a[:, None]).squeeze(1), expected)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if frame % 200 == 0:
            target.load_state_dict((target if faulty else q).state_dict())
            returns.append(evaluate(q))
            monitor.log(eval_return=returns[-1], epsilon=eps)
    monitor.close()
    return sum(returns[-5:]) / 5
