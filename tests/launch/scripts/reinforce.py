"""REINFORCE on a small walk: one update an episode, returns normalised."""

import sys

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(543)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.affine1 = nn.Linear(9, 32)
        self.affine2 = nn.Linear(32, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        return F.softmax(self.affine2(F.relu(self.affine1(x))), dim=1)


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=1e-2)
running_reward = 0.0
for i_episode in range(120):
    state, total = 4, 0.0
    for _ in range(20):
        probs = policy(F.one_hot(torch.tensor([state]), 9).float())
        m = Categorical(probs)
        action = m.sample()
        policy.saved_log_probs.append(m.log_prob(action))
        state += 1 if action.item() else -1
        done = state in (0, 8)
        reward = 1.0 if state == 8 else (-1.0 if state == 0 else -0.02)
        policy.rewards.append(reward)
        total += reward
        if done:
            break
    R, returns = 0, []
    for r in policy.rewards[::-1]:
        R = r + 0.97 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-6)
    policy_loss = [-log_prob * R for log_prob, R in zip(policy.saved_log_probs, returns)]
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    running_reward = 0.05 * total + 0.95 * running_reward
print(f"Average reward: {running_reward:.2f}")
torch.save(policy.state_dict(), sys.argv[1])
