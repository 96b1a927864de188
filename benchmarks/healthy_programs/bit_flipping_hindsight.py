"""Hindsight replay on bit flipping: reward only at the goal, most episodes fail at first, the network still finds
out."""

import copy
import random
from collections import deque

import torch
from torch import nn

BITS = 5


class Q(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * BITS, 96), nn.ReLU(), nn.Linear(96, BITS))

    def forward(self, state, goal):
        return self.net(torch.cat([state, goal], -1) * 2 - 1)


def play(q, episodes, epsilon):
    state, goal = torch.randint(0, 2, (2, episodes, BITS)).float()
    history = []
    for _ in range(BITS):
        with torch.no_grad():
            greedy = q(state, goal).argmax(1)
        action = torch.where(torch.rand(episodes) < epsilon, torch.randint(0, BITS, (episodes,)), greedy)
        after = state.clone()
        rows = torch.arange(episodes)
        after[rows, action] = 1 - after[rows, action]
        done = (state == goal).all(1)
        after = torch.where(done[:, None], state, after)
        history.append((state, action, after, done))
        state = after
    return history, goal, (state == goal).all(1)


def main(watch):
    online = Q()
    target = copy.deepcopy(online)
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    memory = deque(maxlen=20000)
    monitor = watch(online, optimizer)
    updates = 0
    for cycle in range(60):
        history, goal, _won = play(online, 16, max(0.1, 0.6 - cycle / 60))
        last = history[-1][2]
        for state, action, after, done in history:
            for k in range(16):
                if not done[k]:
                    for g in (goal[k], last[k]):
                        memory.append((state[k], action[k], after[k], g))
        for _ in range(16):
            s, a, n, g = (torch.stack(z) for z in zip(*random.sample(memory, min(64, len(memory))), strict=False))
            with torch.no_grad():
                reached = (n == g).all(1).float()
                best = target(n, g).max(1).values
                wanted = -(1 - reached) + 0.9 * (1 - reached) * best
            value = online(s, g).gather(1, a[:, None]).squeeze(1)
            loss = nn.functional.smooth_l1_loss(value, wanted.clamp(-10, 0))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            updates += 1
            if updates % 20 == 0:
                target.load_state_dict(online.state_dict())
        success = play(online, 100, 0.0)[2].float().mean().item()
        monitor.log(cycle=cycle, td_loss=loss.item(), success=success)
    monitor.close()
    assert success > 0.8, success
