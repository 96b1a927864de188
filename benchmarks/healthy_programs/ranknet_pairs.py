"""Learning to rank from pairs of answers to the same question; the scores have no scale and no zero."""

import torch
import torch.nn.functional as F
from torch import nn


def main(watch):
    x = torch.randn(400, 10, 12)  # questions, answers, what is known of them
    merit = x[..., 0] - 0.7 * x[..., 1] * x[..., 2] + 0.3 * torch.randn(400, 10)
    net = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(40):
            for q in torch.randperm(300).split(20):
                score = net(x[q]).squeeze(-1)
                gap = score[:, :, None] - score[:, None, :]
                better = (merit[q][:, :, None] > merit[q][:, None, :]).float()
                loss = F.softplus(-gap)[better.bool()].mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                best = net(x[300:]).squeeze(-1).argmax(1)
                rank = (merit[300:] > merit[300:].gather(1, best[:, None])).sum(1).float()
            monitor.log(mean_rank_of_first=rank.mean().item(), hits_at_3=(rank < 3).float().mean().item())
    assert (rank < 3).float().mean().item() > 0.7
