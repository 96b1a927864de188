"""REINFORCE on a cart-pole written by hand, in the manner of PyTorch's own example: one episode, one update."""

import math
import random

import torch
from torch import nn
from torch.distributions import Categorical


class CartPole:
    def reset(self):
        self.state = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return torch.tensor(self.state)

    def step(self, action):
        x, v, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        cos, sin = math.cos(angle), math.sin(angle)
        temp = (force + 0.05 * spin**2 * sin) / 1.1
        turn = (9.8 * sin - cos * temp) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        push = temp - 0.05 * turn * cos / 1.1
        self.state = [x + 0.02 * v, v + 0.02 * push, angle + 0.02 * spin, spin + 0.02 * turn]
        self.t += 1
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.2095 or self.t >= 200
        return torch.tensor(self.state), 1.0, done


def main(watch):
    env, policy = CartPole(), nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.1), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    monitor = watch(policy, optimizer)
    lengths, running = [], 10.0
    for episode in range(260):
        state, log_probs, rewards, done = env.reset(), [], [], False
        while not done:
            m = Categorical(logits=policy(state.unsqueeze(0)))
            action = m.sample()
            log_probs.append(m.log_prob(action))
            state, reward, done = env.step(action.item())
            rewards.append(reward)
        returns, R = [], 0
        for r in reversed(rewards):
            R = r + 0.99 * R
            returns.insert(0, R)
        returns = torch.tensor(returns)
        returns = (returns - returns.mean()) / (returns.std() + 1e-8)
        optimizer.zero_grad()
        loss = torch.cat([-lp * R for lp, R in zip(log_probs, returns, strict=True)]).sum()
        loss.backward()
        optimizer.step()
        lengths.append(len(rewards))
        running = 0.05 * len(rewards) + 0.95 * running
        if episode % 10 == 0:
            monitor.log(running_reward=running, episode_length=len(rewards))
    monitor.close()
    assert sum(lengths[-30:]) > 2 * sum(lengths[:30])
