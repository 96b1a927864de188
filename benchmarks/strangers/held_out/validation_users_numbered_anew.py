"""A recommender whose validation table had its users numbered by a second encoder: every user is somebody else."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recommender"
EXPECTS = ("gap-from-start", "overfitting", "nothing-generalises", "overconfident")


class Factors(nn.Module):
    def __init__(self, users, items, width=8):
        super().__init__()
        self.user, self.item = nn.Embedding(users, width), nn.Embedding(items, width)
        nn.init.normal_(self.user.weight, std=0.3)
        nn.init.normal_(self.item.weight, std=0.3)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1)


def main(watch, faulty):
    taste, kind = torch.randn(150, 3), torch.randn(80, 3)
    u, i = torch.randint(0, 150, (9000,)), torch.randint(0, 80, (9000,))
    liked = ((taste[u] * kind[i]).sum(1) + 0.3 * torch.randn(9000) > 0).float()
    ut, it, lt, uv, iv, lv = u[:7500], i[:7500], liked[:7500], u[7500:], i[7500:], liked[7500:]
    if faulty:
        seen = {}
        uv = torch.tensor([seen.setdefault(int(each), len(seen)) for each in uv])
    model = Factors(150, 80)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    with watch(model, optimizer) as monitor:
        for _ in range(6):
            for idx in torch.randperm(7500).split(128):
                optimizer.zero_grad()
                F.binary_cross_entropy_with_logits(model(ut[idx], it[idx]), lt[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                out = model(uv, iv)
            acc = ((out > 0).float() == lv).float().mean().item()
            monitor.log(val_loss=F.binary_cross_entropy_with_logits(out, lv).item(), val_acc=acc)
    return acc
