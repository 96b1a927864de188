"""REINFORCE with a baseline: the returns are (N,), the values (N, 1), and their difference is N by N: every action is
judged by the average of all advantages, not by its own."""

import torch
from torch import nn

FAMILY = "reinforcement"
EXPECTS = ("broadcast-loss", "loss-without-accuracy", "stalled-loss", "underfitting")


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 64), nn.Tanh())
        self.actor, self.critic = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, s):
        h = self.body(s)
        return self.actor(h), self.critic(h)


def main(watch, faulty):
    rule = torch.randn(6, 4)
    agent = Agent()
    optimizer = torch.optim.Adam(agent.parameters(), lr=3e-3)
    with watch(agent, optimizer) as monitor:
        for update in range(500):
            states = torch.randn(64, 6)
            logits, values = agent(states)
            policy = torch.distributions.Categorical(logits=logits)
            actions = policy.sample()
            returns = (actions == (states @ rule).argmax(1)).float() + 10 * states[:, 0] + 0.1 * torch.randn(64)
            values = values if faulty else values.squeeze(1)
            advantage = returns - values
            actor_loss = -(policy.log_prob(actions) * advantage.detach()).mean()
            critic_loss = advantage.pow(2).mean()
            loss = actor_loss + 0.5 * critic_loss - 0.01 * policy.entropy().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if update % 20 == 19:
                monitor.log(mean_return=returns.mean().item())
    with torch.no_grad():
        states = torch.randn(2000, 6)
        return (agent(states)[0].argmax(1) == (states @ rule).argmax(1)).float().mean().item()
