"""A graph network of twenty hops: after so much averaging every node looks like every other."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "graph"
EXPECTS = (
    "collapsed-activations",
    "vanishing-gradient",
    "loss-at-chance",
    "stalled-loss",
    "underfitting",
    "stuck-from-start",
)


class GCN(nn.Module):
    def __init__(self, hops):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16 if i == 0 else 32, 32) for i in range(hops))
        self.head = nn.Linear(32, 4)

    def forward(self, x, adj):
        for layer in self.layers:
            x = F.relu(layer(adj @ x))
        return self.head(x)


def main(watch, faulty):
    n = 400
    y = torch.arange(n) % 4
    p = torch.where(y[:, None] == y[None, :], 0.06, 0.01)
    adj = torch.bernoulli(p).triu(1)
    adj = adj + adj.T + torch.eye(n)
    d = adj.sum(1).rsqrt()
    adj = d[:, None] * adj * d[None, :]
    x = F.one_hot(y, 4).float() @ torch.randn(4, 16) * 0.6 + torch.randn(n, 16)
    train = torch.rand(n) < 0.5
    model = GCN(20 if faulty else 2)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
    with watch(model, opt) as monitor:
        for _ in range(300):
            model.train()
            loss = F.cross_entropy(model(x, adj)[train], y[train])
            opt.zero_grad()
            loss.backward()
            opt.step()
            model.eval()
            with torch.no_grad():
                out = model(x, adj)[~train]
            acc = (out.argmax(1) == y[~train]).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, y[~train]).item(), val_acc=acc)
    return acc
