"""A2C with one body for actor and critic and clipped gradients; the rewards are in cents, and the squared error of the
critic is ten thousand times the rest."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

FAMILY = "reinforcement"
EXPECTS = ("unbalanced-loss-parts", "stuck-reward", "gradient-always-clipped", "dominant-module", "wrong-initial-loss")


class Market:
    """Buy, hold or sell where the price swings about its mean, with noise."""

    def __init__(self, count):
        self.price, self.trend = torch.randn(count), torch.randn(count)

    def state(self):
        return torch.stack([self.price, self.trend], 1)

    def step(self, position):
        change = 0.5 * self.trend - 0.3 * self.price + 0.3 * torch.randn_like(self.price)
        self.price, self.trend = self.price + change, 0.8 * self.trend + 0.6 * torch.randn_like(change)
        return (position - 1) * change


class ActorCritic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, state):
        h = self.body(state)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


def main(watch, faulty):
    unit = 100.0 if faulty else 1.0
    agent, env, gamma = ActorCritic(), Market(64), 0.9
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3)
    with watch(agent, optimizer, loss_falls=False) as monitor:
        for _ in range(300):
            log_probs, values, rewards, entropy = [], [], [], 0.0
            for _ in range(5):
                policy, value = agent(env.state())
                action = policy.sample()
                rewards.append(unit * env.step(action))
                log_probs.append(policy.log_prob(action))
                values.append(value)
                entropy = entropy + policy.entropy().mean() / 5
            with torch.no_grad():
                ahead = agent(env.state())[1]
            returns = []
            for reward in reversed(rewards):
                ahead = reward + gamma * ahead
                returns.insert(0, ahead)
            returns, values, log_probs = torch.stack(returns), torch.stack(values), torch.stack(log_probs)
            advantage = (returns - values).detach()
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
            actor_loss, critic_loss = -(log_probs * advantage).mean(), F.mse_loss(values, returns)
            loss = actor_loss + 0.5 * critic_loss - 0.01 * entropy
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
            monitor.log(
                reward=torch.stack(rewards).mean().item(), actor_loss=actor_loss.item(), critic_loss=critic_loss.item()
            )
    env, total = Market(2000), 0.0
    with torch.no_grad():
        for _ in range(20):
            total += env.step(agent(env.state())[0].probs.argmax(1)).mean().item()
    return total / 20
