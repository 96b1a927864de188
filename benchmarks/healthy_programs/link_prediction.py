"""Link prediction: a two-layer graph encoder, dot-product decoder, fresh negative edges every epoch (full batch)."""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self, inputs, hidden=32, out=16):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(inputs, hidden), nn.Linear(hidden, out)

    def forward(self, x, adjacency):
        return adjacency @ self.lin2(F.dropout((adjacency @ self.lin1(x)).relu(), 0.2, self.training))


def score(z, pairs):
    return (z[pairs[0]] * z[pairs[1]]).sum(1)


def main(watch):
    n, groups = 300, torch.randint(6, (300,))
    chance = torch.where(groups[:, None] == groups[None], 0.25, 0.01)
    edges = torch.triu(torch.rand(n, n) < chance, 1).nonzero().T
    edges = edges[:, torch.randperm(edges.shape[1])]
    held, train = edges[:, :200], edges[:, 200:]
    adjacency = torch.eye(n)
    adjacency[train[0], train[1]] = adjacency[train[1], train[0]] = 1
    degree = adjacency.sum(1).rsqrt()
    adjacency = degree[:, None] * adjacency * degree[None]
    features = F.one_hot(groups, 6).float() + 0.8 * torch.randn(n, 6)
    model = Encoder(6)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    monitor = watch(model, optimizer)
    negatives = torch.randint(n, held.shape)
    for epoch in range(150):
        model.train()
        optimizer.zero_grad()
        z = model(features, adjacency)
        pairs = torch.cat([train, torch.randint(n, train.shape)], 1)
        labels = torch.cat([torch.ones(train.shape[1]), torch.zeros(train.shape[1])])
        loss = F.binary_cross_entropy_with_logits(score(z, pairs), labels)
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            z = model(features, adjacency)
            right = (score(z, held)[:, None] > score(z, negatives)[None]).float().mean().item()
        monitor.log(val_auc=right, epoch=epoch)
    monitor.close()
    assert right > 0.75
