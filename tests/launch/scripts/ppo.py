"""PPO in one file: rollouts, minibatch epochs, clipped objective, clipped gradients, an annealed rate."""

import sys

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical

torch.manual_seed(1)
np.random.seed(1)
num_envs, num_steps, num_updates, minibatch, clip_coef, gamma, lam = 8, 16, 12, 32, 0.2, 0.95, 0.95


def layer_init(layer, std=np.sqrt(2)):
    nn.init.orthogonal_(layer.weight, std)
    nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.critic = nn.Sequential(layer_init(nn.Linear(3, 32)), nn.Tanh(), layer_init(nn.Linear(32, 1), std=1.0))
        self.actor = nn.Sequential(layer_init(nn.Linear(3, 32)), nn.Tanh(), layer_init(nn.Linear(32, 3), std=0.01))

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


def env_step(obs, action):  # the reward is for choosing the largest of three numbers
    reward = (obs.argmax(1) == action).float()
    return torch.randn(num_envs, 3), reward


agent = Agent()
optimizer = optim.Adam(agent.parameters(), lr=2.5e-3, eps=1e-5)
next_obs = torch.randn(num_envs, 3)
for update in range(1, num_updates + 1):
    optimizer.param_groups[0]["lr"] = (1.0 - (update - 1.0) / num_updates) * 2.5e-3
    obs, actions, logprobs, rewards, values = [], [], [], [], []
    for _ in range(num_steps):
        with torch.no_grad():
            action, logprob, _, value = agent.get_action_and_value(next_obs)
        obs.append(next_obs)
        actions.append(action)
        logprobs.append(logprob)
        values.append(value.flatten())
        next_obs, reward = env_step(next_obs, action)
        rewards.append(reward)
    with torch.no_grad():
        next_value = agent.get_value(next_obs).flatten()
    advantages, lastgaelam = [None] * num_steps, 0
    for t in reversed(range(num_steps)):
        following = next_value if t == num_steps - 1 else values[t + 1]
        lastgaelam = rewards[t] + gamma * following - values[t] + gamma * lam * lastgaelam
        advantages[t] = lastgaelam
    b_obs, b_actions, b_logprobs = torch.cat(obs), torch.cat(actions), torch.cat(logprobs)
    b_advantages, b_values = torch.cat(advantages), torch.cat(values)
    b_returns = b_advantages + b_values
    for _ in range(3):
        for mb in torch.randperm(num_envs * num_steps).split(minibatch):
            _, newlogprob, entropy, newvalue = agent.get_action_and_value(b_obs[mb], b_actions[mb])
            ratio = (newlogprob - b_logprobs[mb]).exp()
            adv = (b_advantages[mb] - b_advantages[mb].mean()) / (b_advantages[mb].std() + 1e-8)
            pg_loss = torch.max(-adv * ratio, -adv * torch.clamp(ratio, 1 - clip_coef, 1 + clip_coef)).mean()
            v_loss = 0.5 * ((newvalue.view(-1) - b_returns[mb]) ** 2).mean()
            loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
            optimizer.step()
    print(f"update={update}, mean_reward={torch.cat(rewards).mean().item():.3f}")
torch.save(agent.state_dict(), sys.argv[1])
