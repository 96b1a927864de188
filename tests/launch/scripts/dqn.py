"""DQN: a policy and a target net, replay memory, Huber loss, gradients clipped by value."""

import random
import sys
from collections import deque

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
random.seed(0)


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(3, 32)
        self.layer2 = nn.Linear(32, 3)

    def forward(self, x):
        return self.layer2(torch.relu(self.layer1(x)))


policy_net, target_net = DQN(), DQN()
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=3e-3, amsgrad=True)
memory = deque([], maxlen=2000)
state, eps = torch.randn(3), 0.9
for t in range(260):
    eps = max(0.05, eps * 0.985)
    if random.random() > eps:
        with torch.no_grad():
            action = policy_net(state[None]).argmax(1).item()
    else:
        action = random.randrange(3)
    reward = float(state.argmax().item() == action)
    next_state = torch.randn(3)
    memory.append((state, action, next_state, reward))
    state = next_state
    if len(memory) < 64:
        continue
    s, a, s2, r = zip(*random.sample(memory, 64))
    s, a, s2, r = torch.stack(s), torch.tensor(a)[:, None], torch.stack(s2), torch.tensor(r)
    state_action_values = policy_net(s).gather(1, a)
    with torch.no_grad():
        next_values = target_net(s2).max(1).values
    expected = (next_values * 0.5) + r
    loss = nn.SmoothL1Loss()(state_action_values, expected.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    target, policy = target_net.state_dict(), policy_net.state_dict()
    for key in policy:
        target[key] = policy[key] * 0.02 + target[key] * 0.98
    target_net.load_state_dict(target)
torch.save(policy_net.state_dict(), sys.argv[1])
