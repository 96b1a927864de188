"""A graph network that indexes source where it means target: children are asked about parents they never hear of."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "graph"
EXPECTS = ("nothing-generalises", "loss-at-chance", "underfitting", "overfitting", "stalled-loss")


class Messages(nn.Module):
    def __init__(self, against):
        super().__init__()
        self.against = against
        self.own, self.heard = nn.Linear(6, 32), nn.Linear(6, 32)
        self.out = nn.Linear(32, 2)

    def forward(self, x, edges):
        source, target = edges.flip(0) if self.against else edges
        heard = torch.zeros_like(x).index_add(0, target, x[source])
        return self.out(torch.relu(self.own(x) + self.heard(heard)))


def forest(n):
    # every node from the second on has one parent among the nodes before it
    parent = (torch.rand(n - 1) * torch.arange(1, n)).long()
    edges = torch.stack([parent, torch.arange(1, n)])
    x = torch.randn(n, 6)
    y = torch.zeros(n, dtype=torch.long)
    y[1:] = (x[parent, 0] + 0.5 * x[parent, 1] > 0).long()
    return x, edges, y


def main(watch, faulty):
    graphs, held_out = [forest(60) for _ in range(60)], [forest(60) for _ in range(20)]
    model = Messages(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(10):
            for i in torch.randperm(60).tolist():
                x, edges, y = graphs[i]
                loss = F.cross_entropy(model(x, edges), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                outs = [(model(x, edges), y) for x, edges, y in held_out]
            acc = sum((out.argmax(1) == y).float().mean().item() for out, y in outs) / len(outs)
            monitor.log(val_loss=sum(F.cross_entropy(out, y).item() for out, y in outs) / len(outs), val_acc=acc)
    return acc
