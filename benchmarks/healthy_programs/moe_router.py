"""A mixture of four experts, top-1 routing with a load-balancing loss, on a piecewise function."""

import torch
import torch.nn.functional as F
from torch import nn


class MoE(nn.Module):
    def __init__(self, dim, experts=4):
        super().__init__()
        self.gate = nn.Linear(dim, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim)) for _ in range(experts)
        )

    def forward(self, x):
        prob = F.softmax(self.gate(x), -1)
        weight, idx = prob.max(-1)
        out = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            chosen = idx == i
            if chosen.any():
                out[chosen] = expert(x[chosen]) * weight[chosen, None]
        share = F.one_hot(idx, len(self.experts)).float().mean(0)
        return x + out, len(self.experts) * (share * prob.mean(0)).sum()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.moe1, self.moe2, self.head = nn.Linear(4, 32), MoE(32), MoE(32), nn.Linear(32, 1)

    def forward(self, x):
        h, a = self.moe1(self.embed(x))
        h, b = self.moe2(h)
        return self.head(h).squeeze(-1), a + b


def truth(x):
    return torch.where(x[:, 0] > 0, torch.sin(3 * x[:, 1]), x[:, 2] * x[:, 3])


def main(watch):
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    monitor = watch(model, opt)
    xv = torch.randn(1000, 4)
    for step in range(900):
        x = torch.randn(128, 4)
        pred, aux = model(x)
        loss = F.mse_loss(pred, truth(x)) + 0.01 * aux
        loss.backward()
        opt.step()
        opt.zero_grad()
        if (step + 1) % 100 == 0:
            with torch.no_grad():
                mse = F.mse_loss(model(xv)[0], truth(xv)).item()
            monitor.log(valid_mse=mse)
    monitor.close()
    assert mse < 0.35 * truth(xv).var()
