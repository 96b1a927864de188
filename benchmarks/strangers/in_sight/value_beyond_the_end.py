"""Q-learning that bootstraps past the end of an episode: to fall costs nothing, as what comes next is always worth as
much as any other state."""

import random

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = ("loss-without-accuracy", "diverging-loss", "metric-loss-disagreement", "stalled-loss", "worsening-metric")


class Poles:
    """Balance a pole; it ends when the pole falls, and every step is worth one."""

    def reset(self):
        self.state, self.age = 0.1 * torch.randn(4), 0
        return self.state.clone()

    def step(self, action):
        x, v, angle, turn = self.state.tolist()
        force = 1.0 if action else -1.0
        turn2 = turn + 0.05 * (9.8 * angle - 8 * force)
        v2 = v + 0.05 * 4 * force
        self.state = torch.tensor([x + 0.05 * v2, v2, angle + 0.05 * turn2, turn2])
        self.age += 1
        fallen = abs(self.state[2].item()) > 0.4 or abs(self.state[0].item()) > 3
        return self.state.clone(), 1.0, fallen, fallen or self.age >= 150


def main(watch, faulty):
    env, gamma = Poles(), 0.97
    net, target = (
        nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)) for _ in "ab"
    )
    target.load_state_dict(net.state_dict())
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    memory, lengths, state, length = [], [], env.reset(), 0
    with watch(net, optimizer) as monitor:
        for step in range(5000):
            epsilon = max(0.05, 1 - step / 2500)
            with torch.no_grad():
                action = random.randrange(2) if random.random() < epsilon else net(state).argmax().item()
            after, reward, fallen, done = env.step(action)
            memory.append((state, action, reward, after, float(fallen)))
            state, length = after, length + 1
            if done:
                lengths.append(length)
                state, length = env.reset(), 0
            if step < 500 or step % 2:
                continue
            s, a, r, n, d = zip(*random.sample(memory, 64), strict=True)
            s, n, a = torch.stack(s), torch.stack(n), torch.tensor(a)
            r, d = torch.tensor(r), torch.tensor(d)
            with torch.no_grad():
                goal = r + gamma * target(n).max(1).values * (1.0 if faulty else 1 - d)
            loss = F.smooth_l1_loss(net(s).gather(1, a[:, None]).squeeze(1), goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 100 == 0:
                target.load_state_dict(net.state_dict())
                monitor.log(episode_return=sum(lengths[-10:]) / len(lengths[-10:]))
    return sum(lengths[-15:]) / 15
