"""Double DQN with a replay memory and a target net that is copied now and then, as in the tutorial (CartPole)."""

import math
import random
from collections import deque, namedtuple

import torch
from torch import nn

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class CartPole:
    def reset(self):
        self.s = [random.uniform(-0.05, 0.05) for _ in range(4)]
        self.t = 0
        return torch.tensor([self.s])

    def step(self, action):
        x, v, a, w = self.s
        force = 10.0 if action else -10.0
        temp = (force + 0.05 * w * w * math.sin(a)) / 1.1
        acc = (9.8 * math.sin(a) - math.cos(a) * temp) / (0.5 * (4 / 3 - 0.1 * math.cos(a) ** 2 / 1.1))
        xacc = temp - 0.05 * acc * math.cos(a) / 1.1
        self.s = [x + 0.02 * v, v + 0.02 * xacc, a + 0.02 * w, w + 0.02 * acc]
        self.t += 1
        return torch.tensor([self.s]), abs(self.s[0]) > 2.4 or abs(self.s[2]) > 0.209, self.t >= 200


class DQN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1, self.layer2, self.layer3 = nn.Linear(4, 64), nn.Linear(64, 64), nn.Linear(64, 2)

    def forward(self, x):
        return self.layer3(self.layer2(self.layer1(x).relu()).relu())


def main(watch):
    env, policy, target = CartPole(), DQN(), DQN()
    target.load_state_dict(policy.state_dict())
    optimizer = torch.optim.AdamW(policy.parameters(), lr=5e-4, amsgrad=True)
    criterion = nn.SmoothL1Loss()
    monitor = watch(policy, optimizer)
    memory, durations, steps = deque(maxlen=10000), [], 0
    while steps < 5000:
        state = env.reset()
        while True:
            epsilon = 0.05 + 0.85 * math.exp(-steps / 500)
            steps += 1
            if random.random() < epsilon:
                action = random.randrange(2)
            else:
                with torch.no_grad():
                    action = policy(state).argmax(1).item()
            following, fell, timed_out = env.step(action)
            memory.append(Transition(state, torch.tensor([[action]]), None if fell else following, torch.tensor([1.0])))
            state = following
            if len(memory) >= 64 and steps % 2 == 0:
                batch = Transition(*zip(*random.sample(memory, 64), strict=True))
                alive = torch.tensor([s is not None for s in batch.next_state])
                later = torch.cat([s for s in batch.next_state if s is not None])
                q = policy(torch.cat(batch.state)).gather(1, torch.cat(batch.action))
                value = torch.zeros(64)
                with torch.no_grad():
                    value[alive] = target(later).gather(1, policy(later).argmax(1, keepdim=True))[:, 0]
                loss = criterion(q, (torch.cat(batch.reward) + 0.99 * value)[:, None])
                optimizer.zero_grad()
                loss.backward()
                torch.nn.utils.clip_grad_value_(policy.parameters(), 100)
                optimizer.step()
                for mine, theirs in zip(policy.parameters(), target.parameters(), strict=True):
                    theirs.data.lerp_(mine.data, 0.01)
            if fell or timed_out:
                durations.append(env.t)
                monitor.log(episode_length=env.t)
                break
    monitor.close()
    assert sum(durations[-10:]) / 10 > 1.5 * sum(durations[:10]) / 10
