"""TransE on a made-up family of entities: margin ranking against corrupted triples, entities renormalised."""

import torch
import torch.nn.functional as F
from torch import nn


class TransE(nn.Module):
    def __init__(self, entities, relations, dim=32):
        super().__init__()
        self.entity, self.relation = nn.Embedding(entities, dim), nn.Embedding(relations, dim)
        nn.init.uniform_(self.entity.weight, -6 / dim**0.5, 6 / dim**0.5)
        nn.init.uniform_(self.relation.weight, -6 / dim**0.5, 6 / dim**0.5)

    def forward(self, h, r, t):
        return (self.entity(h) + self.relation(r) - self.entity(t)).norm(p=1, dim=1)


def main(watch):
    side, n = 11, 121  # a grid, whose neighbours are translations of one another
    moves = torch.tensor([[1, 0], [0, 1], [2, 1], [1, 2]])
    facts = [
        (x * side + y, k, (x + dx) * side + y + dy)
        for k, (dx, dy) in enumerate(moves.tolist())
        for x in range(side - dx)
        for y in range(side - dy)
    ]
    heads, relations, tails = torch.tensor(facts).T
    order = torch.randperm(len(heads))
    train, test = order[:-50], order[-50:]
    model = TransE(n, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    monitor = watch(model, optimizer)
    for epoch in range(240):
        model.entity.weight.data = F.normalize(model.entity.weight.data, dim=1)
        for i in train[torch.randperm(len(train))].split(40):
            h, r, t = heads[i], relations[i], tails[i]
            wrong = torch.randint(n, t.shape)
            loss = F.relu(1 + model(h, r, t) - model(h, r, wrong)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 12 == 11:
            with torch.no_grad():
                rank = 0.0
                for k in test.tolist():
                    d = model(heads[k].expand(n), relations[k].expand(n), torch.arange(n))
                    rank += (d < d[tails[k]]).sum().item() + 1
            monitor.log(mean_rank=rank / len(test), epoch=epoch)
    monitor.close()
    assert rank / len(test) < 45
