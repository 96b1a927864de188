"""Actor and critic with an optimizer each, as attributes of an agent."""

import sys

import torch
from torch import nn

torch.manual_seed(3)


class A2CAgent:
    def __init__(self):
        self.actor = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 3))
        self.critic = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 1))
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=3e-3)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=3e-3)

    def learn(self):
        state = torch.randn(64, 3)
        dist = torch.distributions.Categorical(logits=self.actor(state))
        action = dist.sample()
        reward = (state.argmax(1) == action).float()
        value = self.critic(state).squeeze(1)
        advantage = reward - value.detach()
        actor_loss = -(dist.log_prob(action) * advantage).mean() - 0.01 * dist.entropy().mean()
        critic_loss = nn.functional.mse_loss(value, reward)
        self.actor_optimizer.zero_grad()
        actor_loss.backward()
        self.actor_optimizer.step()
        self.critic_optimizer.zero_grad()
        critic_loss.backward()
        self.critic_optimizer.step()
        return reward.mean().item()


agent = A2CAgent()
for i in range(200):
    reward = agent.learn()
print(f"reward {reward:.2f}")
torch.save([agent.actor.state_dict(), agent.critic.state_dict()], sys.argv[1])
