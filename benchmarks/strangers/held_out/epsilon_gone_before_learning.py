"""DQN on a corridor with a small reward behind the agent and a large one far ahead: epsilon decays at every action, by
the factor that was meant for every episode, and the agent stops exploring before it has seen the end."""

import random
from collections import deque

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = ("stuck-reward", "suspiciously-perfect", "frozen-validation")

LENGTH = 11


class Corridor:
    """Left of the start are crumbs, and at the other end is the cheese."""

    def reset(self):
        self.at, self.time = 2, 0
        return self.at

    def step(self, action):
        self.at, self.time = self.at + (1 if action else -1), self.time + 1
        reward = {0: 0.1, LENGTH: 1.0}.get(self.at, 0.0)
        return self.at, reward, self.at in (0, LENGTH) or self.time >= 50


def seen(at):
    return F.one_hot(torch.as_tensor(at), LENGTH + 1).float()


def greedy_return(q):
    env, total, done = Corridor(), 0.0, False
    at = env.reset()
    while not done:
        with torch.no_grad():
            at, reward, done = env.step(int(q(seen(at)).argmax()))
        total += reward
    return total


def main(watch, faulty):
    q, target = (nn.Sequential(nn.Linear(LENGTH + 1, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(2))
    target.load_state_dict(q.state_dict())
    optimizer = torch.optim.Adam(q.parameters(), lr=5e-3)
    memory, epsilon, steps, env = deque(maxlen=5000), 1.0, 0, Corridor()
    with watch(q, optimizer, loss_falls=False) as monitor:
        for episode in range(10000):
            at, done, total = env.reset(), False, 0.0
            while not done:
                with torch.no_grad():
                    greedy = int(q(seen(at)).argmax())
                action = random.randrange(2) if random.random() < epsilon else greedy
                after, reward, done = env.step(action)
                memory.append((at, action, reward, after, done))
                at, total = after, total + reward
                if faulty:
                    epsilon = max(0.02, 0.96 * epsilon)
                if len(memory) >= 64:
                    s, a, r, n, d = (torch.tensor(column) for column in zip(*random.sample(memory, 64), strict=True))
                    with torch.no_grad():
                        best = r + 0.97 * target(seen(n)).max(1).values * (~d)
                    loss = F.smooth_l1_loss(q(seen(s)).gather(1, a[:, None]).squeeze(1), best)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    steps += 1
                    if steps % 20 == 0:
                        target.load_state_dict(q.state_dict())
            if not faulty:
                epsilon = max(0.02, 0.96 * epsilon)
            monitor.log(episode=episode, episode_reward=total)
            if steps >= 800:
                break
    return greedy_return(q)
