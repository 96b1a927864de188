"""PPO with the sign of the entropy term turned round: the policy is paid for being sure, and is sure before it has
found out anything."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

FAMILY = "reinforcement"
EXPECTS = ("stuck-reward", "saturated-units", "faded-gradient", "vanishing-gradient", "worsening-metric")


class Tiles:
    """Walk to the tile that is marked, on a board of five by five, in twelve moves."""

    MOVES = torch.tensor([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def __init__(self, count):
        self.at, self.goal = (torch.randint(0, 5, (count, 2)) for _ in range(2))

    def state(self):
        return torch.cat([self.at, self.goal], 1) / 2.0 - 1

    def step(self, action):
        before = (self.at - self.goal).abs().sum(1)
        self.at = (self.at + self.MOVES[action]).clamp(0, 4)
        there = (self.at == self.goal).all(1)
        nearer = before - (self.at - self.goal).abs().sum(1)
        return there.float() + 0.05 * nearer


def rollout(actor, count, length=12):
    env, states, actions, log_probs, rewards = Tiles(count), [], [], [], []
    with torch.no_grad():
        for _ in range(length):
            states.append(env.state())
            policy = Categorical(logits=actor(states[-1]))
            actions.append(policy.sample())
            log_probs.append(policy.log_prob(actions[-1]))
            rewards.append(env.step(actions[-1]))
    rewards = torch.stack(rewards)
    returns, ahead = torch.zeros_like(rewards), 0.0
    for t in reversed(range(length)):
        ahead = rewards[t] + 0.9 * ahead
        returns[t] = ahead
    return torch.cat(states), torch.cat(actions), torch.cat(log_probs), returns.flatten(), rewards.sum(0).mean().item()


def main(watch, faulty):
    actor = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 4))
    critic = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 1))
    agent = nn.ModuleDict({"actor": actor, "critic": critic})
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    bonus = -0.3 if faulty else 0.01
    with watch(agent, optimizer, loss_falls=False) as monitor:
        for iteration in range(40):
            states, actions, old, returns, reward = rollout(actor, 32)
            for _ in range(4):
                for rows in torch.randperm(len(states)).split(96):
                    policy, value = Categorical(logits=actor(states[rows])), critic(states[rows]).squeeze(1)
                    advantage = (returns[rows] - value).detach()
                    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
                    ratio = (policy.log_prob(actions[rows]) - old[rows]).exp()
                    surrogate = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                    loss = -surrogate + 0.5 * F.mse_loss(value, returns[rows]) - bonus * policy.entropy().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
            monitor.log(iteration=iteration, ep_rew_mean=reward)
    return rollout(actor, 1000)[-1]
