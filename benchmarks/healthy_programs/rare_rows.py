"""Healthy: a big embedding of which each batch touches a hundredth, and half of it never; most gradients are exactly
zero by design."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recommender"
EXPECTS = ()


class Ctr(nn.Module):
    def __init__(self, items=20000, dim=8):
        super().__init__()
        self.items = nn.Embedding(items, dim, sparse=False)
        nn.init.normal_(self.items.weight, std=0.05)
        self.head = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, shown, last):
        return self.head(torch.cat([self.items(shown), self.items(last)], 1)).squeeze(1)


def main(watch):
    kind = torch.randint(0, 4, (10000,))
    weight = 1.0 / (torch.arange(10000) + 5.0)  # a few are popular; ids above 10,000 are reserved for later

    def clicks(n):
        shown, last = torch.multinomial(weight, n, replacement=True), torch.multinomial(weight, n, replacement=True)
        p = torch.where(kind[shown] == kind[last], 0.75, 0.08)
        return shown, last, (torch.rand(n) < p).float()

    model = Ctr()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    monitor = watch(model, optimizer)
    held = clicks(4000)
    for step in range(700):
        shown, last, y = clicks(128)
        loss = F.binary_cross_entropy_with_logits(model(shown, last), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            with torch.no_grad():
                val = F.binary_cross_entropy_with_logits(model(*held[:2]), held[2]).item()
            monitor.log(val_loss=val)
    monitor.close()
    base = held[2].mean()
    blind = F.binary_cross_entropy(base.expand(4000), held[2]).item()
    assert val < 0.95 * blind, (val, blind)
    return -val
