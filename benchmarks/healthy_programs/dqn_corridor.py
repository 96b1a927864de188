"""DQN with a replay buffer, a target network and epsilon-greedy play on a noisy corridor."""

import random
from collections import deque

import torch
from torch import nn

N = 8


def env_step(s, a):
    s2 = min(N - 1, s + 1) if a == 1 else max(0, s - 1)
    if random.random() < 0.1:
        s2 = s
    return s2, (1.0 if s2 == N - 1 else 0.0), s2 == N - 1


def onehot(s):
    return torch.eye(N)[s]


def main(watch):
    q = nn.Sequential(nn.Linear(N, 64), nn.ReLU(), nn.Linear(64, 2))
    target = nn.Sequential(nn.Linear(N, 64), nn.ReLU(), nn.Linear(64, 2))
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=2e-3)
    monitor = watch(q, opt)
    memory, steps, eps, s, t = deque(maxlen=2000), 0, 1.0, 0, 0
    lengths = []
    while steps < 1500:
        a = random.randrange(2) if random.random() < eps else q(onehot([s])).argmax(1).item()
        s2, r, done = env_step(s, a)
        memory.append((s, a, r, s2, done))
        s, t = s2, t + 1
        if done or t > 60:
            lengths.append(t)
            s, t = 0, 0
        eps = max(0.05, eps * 0.997)
        if len(memory) < 64:
            continue
        batch = random.sample(memory, 64)
        bs, ba, br, bs2, bd = zip(*batch, strict=True)
        with torch.no_grad():
            y = torch.tensor(br) + 0.9 * target(onehot(list(bs2))).max(1).values * (1 - torch.tensor(bd).float())
        pred = q(onehot(list(bs))).gather(1, torch.tensor(ba)[:, None]).squeeze(1)
        loss = nn.functional.smooth_l1_loss(pred, y)
        opt.zero_grad()
        loss.backward()
        for p in q.parameters():
            p.grad.data.clamp_(-1, 1)
        opt.step()
        steps += 1
        if steps % 100 == 0:
            target.load_state_dict(q.state_dict())
            monitor.log(epsilon=eps, mean_episode_length=sum(lengths[-10:]) / max(1, len(lengths[-10:])))
    monitor.close()
    assert (q(torch.eye(N)[:-1]).argmax(1) == 1).all()
