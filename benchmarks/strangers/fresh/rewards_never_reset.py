"""REINFORCE on a small grid whose returns are summed over all episodes so far: every action looks better and better."""

import torch
from torch import nn

FAMILY = "reinforcement"
EXPECTS = (
    "metric-loss-disagreement", "stuck-policy", "loss-without-accuracy", "exploding-gradient", "oversized-update",
    "unbounded-negative-loss", "diverging-loss", "noisy-loss", "runaway-weights",
)  # fmt: skip
SIDE = 5


def main(watch, faulty):
    policy = nn.Sequential(nn.Linear(SIDE * SIDE, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    moves = torch.tensor([[0, 1], [1, 0], [0, -1], [-1, 0]])
    total, won = 0.0, []
    with watch(policy, optimizer) as monitor:
        for episode in range(400):
            at, logs, gained = torch.tensor([0, 0]), [], []
            for _ in range(20):
                place = torch.zeros(SIDE * SIDE)
                place[at[0] * SIDE + at[1]] = 1
                chosen = torch.distributions.Categorical(logits=policy(place))
                action = chosen.sample()
                logs.append(chosen.log_prob(action))
                at = (at + moves[action]).clamp(0, SIDE - 1)
                done = bool((at == SIDE - 1).all())
                gained.append(1.0 if done else -0.05)
                if done:
                    break
            total = (total if faulty else 0.0) + sum(gained) + (5.0 if faulty else 0.0)
            to_come, running = [], 0.0
            for each in reversed(gained):
                running = each + 0.95 * running
                to_come.insert(0, running)
            returns = torch.tensor(to_come) + (total if faulty else 0.0)
            loss = -(torch.stack(logs) * returns).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            won.append(float(done))
            if episode % 20 == 19:
                monitor.log(success_rate=sum(won[-20:]) / 20)
    return sum(won[-60:]) / 60
