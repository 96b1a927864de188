"""Soft actor-critic on a point that should reach the origin: two critics, a squashed policy, a learned temperature."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, o))


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = mlp(2, 4)

    def forward(self, s):
        mean, log_std = self.net(s).chunk(2, -1)
        normal = torch.distributions.Normal(mean, log_std.clamp(-5, 2).exp())
        u = normal.rsample()
        a = u.tanh()
        return a, (normal.log_prob(u) - (1 - a**2 + 1e-6).log()).sum(-1)


def main(watch):
    actor, critics = Actor(), nn.ModuleList([mlp(4, 1), mlp(4, 1)])
    target = copy.deepcopy(critics).requires_grad_(False)
    log_alpha = torch.zeros(1, requires_grad=True)
    a_opt = torch.optim.Adam(actor.parameters(), lr=1e-3)
    q_opt = torch.optim.Adam(critics.parameters(), lr=1e-3)
    alpha_opt = torch.optim.Adam([log_alpha], lr=1e-3)
    q_monitor, a_monitor = watch(critics, q_opt), watch(actor, a_opt)
    memory, s, returns, total = [], 2 * torch.rand(2) - 1, [], 0.0
    for step in range(1500):
        with torch.no_grad():
            a = actor(s[None])[0][0] if step > 200 else 2 * torch.rand(2) - 1
        s2 = (s + 0.2 * a + 0.02 * torch.randn(2)).clamp(-1.5, 1.5)
        reward = -s2.norm()
        memory.append((s, a, reward, s2))
        total += reward.item()
        s = s2
        if step % 20 == 19:
            returns.append(total)
            s, total = 2 * torch.rand(2) - 1, 0.0
        if step < 200:
            continue
        S, A, R, S2 = (
            torch.stack(x) for x in zip(*[memory[i] for i in torch.randint(len(memory), (64,))], strict=True)
        )
        alpha = log_alpha.exp().item()
        with torch.no_grad():
            A2, logp2 = actor(S2)
            next_q = torch.min(*[q(torch.cat([S2, A2], 1)) for q in target])[:, 0] - alpha * logp2
            y = R + 0.9 * next_q
        q_loss = sum(F.mse_loss(q(torch.cat([S, A], 1))[:, 0], y) for q in critics)
        q_opt.zero_grad()
        q_loss.backward()
        q_opt.step()
        A1, logp = actor(S)
        for p in critics.parameters():
            p.requires_grad_(False)
        a_loss = (alpha * logp - torch.min(*[q(torch.cat([S, A1], 1)) for q in critics])[:, 0]).mean()
        a_opt.zero_grad()
        a_loss.backward()
        a_opt.step()
        for p in critics.parameters():
            p.requires_grad_(True)
        alpha_loss = -(log_alpha * (logp.detach() - 2)).mean()
        alpha_opt.zero_grad()
        alpha_loss.backward()
        alpha_opt.step()
        with torch.no_grad():
            for p, q in zip(target.parameters(), critics.parameters(), strict=True):
                p.lerp_(q, 0.01)
        if step % 20 == 19:
            a_monitor.log({"charts/episodic_return": returns[-1]})
    q_monitor.close()
    a_monitor.close()
    assert sum(returns[-10:]) > sum(returns[:10])
