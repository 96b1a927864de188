"""A recommender with two optimizers: SparseAdam for embeddings, Adam for the tower, in one loop."""

import torch
import torch.nn.functional as F
from torch import nn


class Recommender(nn.Module):
    def __init__(self, users=300, items=200, dim=16):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim, sparse=True), nn.Embedding(items, dim, sparse=True)
        for e in (self.user, self.item):
            nn.init.normal_(e.weight, std=0.1)
        self.tower = nn.Sequential(nn.Linear(2 * dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        a, b = self.user(u), self.item(i)
        return (a * b).sum(1) + self.tower(torch.cat([a, b], 1))[:, 0]


def main(watch):
    tastes, kinds = torch.randn(300, 4), torch.randn(200, 4)
    users, items = torch.randint(300, (12000,)), torch.randint(200, (12000,))
    liked = ((tastes[users] * kinds[items]).sum(1) > 0).float()
    model = Recommender()
    sparse = torch.optim.SparseAdam([model.user.weight, model.item.weight], lr=5e-3)
    dense = torch.optim.Adam(model.tower.parameters(), lr=1e-3)
    monitor = watch(model, [sparse, dense])
    for epoch in range(8):
        for i in torch.randperm(10000).split(128):
            loss = F.binary_cross_entropy_with_logits(model(users[i], items[i]), liked[i])
            sparse.zero_grad()
            dense.zero_grad()
            loss.backward()
            sparse.step()
            dense.step()
        with torch.no_grad():
            out = model(users[10000:], items[10000:])
        val = F.binary_cross_entropy_with_logits(out, liked[10000:]).item()
        accuracy = ((out > 0).float() == liked[10000:]).float().mean().item()
        monitor.log(val_loss=val, val_accuracy=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.7
