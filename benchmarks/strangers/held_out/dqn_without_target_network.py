"""DQN that bootstraps from itself with a rate of 0.3 and no discount: the values run away."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "reinforcement"
EXPECTS = (
    "diverging-loss",
    "runaway-weights",
    "exploding-gradient",
    "oversized-update",
    "growing-activations",
    "nonfinite-loss",
)


def main(watch, faulty):
    q = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 3))
    gamma = 1.5 if faulty else 0.8
    opt = torch.optim.Adam(q.parameters(), lr=5e-3)
    drift = torch.randn(3, 4)
    monitor = watch(q, opt)
    for step in range(800):
        s = torch.randn(64, 4)
        a = torch.randint(0, 3, (64,))
        s2 = (0.8 * s + 0.3 * drift[a]).clamp(-3, 3)
        r = -(s2**2).mean(1)
        with torch.no_grad():
            y = r + gamma * q(s2).max(1).values
        loss = F.mse_loss(q(s).gather(1, a[:, None]).squeeze(1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 80 == 79:
            monitor.log(td_error=loss.item(), mean_q=q(s).mean().item())
    monitor.close()
    return -loss.item()
