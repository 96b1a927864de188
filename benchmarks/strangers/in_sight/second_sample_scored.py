"""REINFORCE where the action that was taken is sampled once, and the log probability is that of another sample."""

import torch
from torch import nn
from torch.distributions import Categorical

FAMILY = "reinforcement"
EXPECTS = ("stuck-reward", "worsening-metric", "stalled-loss")


class Catch:
    """Many at once: a ball falls down a grid of seven columns, and a basket moves to where it will land."""

    def __init__(self, count):
        self.count = count

    def reset(self):
        self.ball, self.basket = (torch.randint(0, 7, (self.count,)) for _ in range(2))
        self.height = 6
        return self.observe()

    def observe(self):
        one_hot = nn.functional.one_hot
        height = torch.full((self.count, 1), self.height / 6)
        return torch.cat([one_hot(self.ball, 7), one_hot(self.basket, 7), height], 1).float()

    def step(self, action):
        self.basket = (self.basket + action - 1).clamp(0, 6)
        self.height -= 1
        done = self.height == 0
        return self.observe(), (self.ball == self.basket).float() * done, done


def play(policy, count, faulty=False):
    env = Catch(count)
    state, done, log_probs, total = env.reset(), False, [], 0.0
    while not done:
        distribution = Categorical(logits=policy(state))
        action = distribution.sample()
        state, reward, done = env.step(action)
        log_probs.append(distribution.log_prob(distribution.sample() if faulty else action))
        total = total + reward
    return torch.stack(log_probs), total


def main(watch, faulty):
    policy = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.Linear(64, 3))
    optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
    with watch(policy, optimizer, loss_falls=False) as monitor:
        for update in range(300):
            log_probs, returns = play(policy, 32, faulty)
            loss = -(log_probs.sum(0) * (returns - returns.mean())).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            monitor.log(update=update, mean_reward=returns.mean().item())
    with torch.no_grad():
        return play(policy, 3000)[1].mean().item()
