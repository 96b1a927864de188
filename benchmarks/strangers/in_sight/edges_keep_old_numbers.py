"""A graph net on a citation-like graph: the nodes are shuffled for the split, the edges keep the numbers from
before."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "graph"
EXPECTS = ("nothing-generalises", "overfitting", "gap-from-start", "underfitting")


def citation_graph(nodes=800, classes=5):
    y = torch.arange(nodes) * classes // nodes  # as in the source file: sorted by class
    same = (y[:, None] == y[None, :]).float()
    p = 0.025 * same + 0.001 * (1 - same)
    adj = torch.triu((torch.rand(nodes, nodes) < p).float(), 1)
    edges = adj.nonzero().T
    centres = torch.randn(classes, 24)
    x = 0.25 * centres[y] + torch.randn(nodes, 24)
    return x, y, torch.cat([edges, edges.flip(0)], 1)


class GCN(nn.Module):
    def __init__(self, i, h, o):
        super().__init__()
        self.lin1, self.lin2 = nn.Linear(i, h), nn.Linear(h, o)

    @staticmethod
    def propagate(x, edges):
        source, target = edges
        out = torch.zeros_like(x).index_add_(0, target, x[source])
        degree = torch.zeros(len(x)).index_add_(0, target, torch.ones(len(target)))
        return (out + x) / (degree + 1)[:, None]

    def forward(self, x, edges):
        h = F.dropout(F.relu(self.lin1(self.propagate(x, edges))), 0.6, self.training)
        return self.lin2(self.propagate(h, edges))


def main(watch, faulty):
    x, y, edges = citation_graph()
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    if not faulty:
        new = torch.empty_like(order)
        new[order] = torch.arange(len(order))
        edges = new[edges]
    train, val = torch.arange(0, 400), torch.arange(400, 800)
    model = GCN(24, 32, 5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-2)
    monitor = watch(model, optimizer)
    for epoch in range(240):
        model.train()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edges)[train], y[train])
        loss.backward()
        optimizer.step()
        if epoch % 10 == 9:
            model.eval()
            with torch.no_grad():
                out = model(x, edges)
                acc = (out[val].argmax(1) == y[val]).float().mean().item()
                monitor.log(
                    train_acc=(out[train].argmax(1) == y[train]).float().mean().item(),
                    val_loss=F.cross_entropy(out[val], y[val]).item(),
                    val_acc=acc,
                )
    monitor.close()
    return acc
