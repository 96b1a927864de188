"""A graph convolutional net with sixteen layers instead of two: after so many averages all nodes are alike."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "graph net"
EXPECTS = (
    "collapsed-activations",
    "loss-at-chance",
    "stuck-from-start",
    "stalled-loss",
    "vanishing-gradient",
    "underfitting",
    "mixed-samples",
    "frozen-validation",
)


def communities(nodes=600, kinds=5):
    """Nodes of one kind know each other more often, and have noisy features."""
    y = torch.randint(0, kinds, (nodes,))
    chance = torch.where(y[:, None] == y[None], 0.05, 0.008)
    edges = torch.rand(nodes, nodes).lt(chance).triu(1).float()
    adjacency = edges + edges.T + torch.eye(nodes)
    degree = adjacency.sum(1)
    features = F.one_hot(y, kinds).float() @ torch.randn(kinds, 32) + 3.0 * torch.randn(nodes, 32)
    return adjacency / (degree[:, None] * degree[None]).sqrt(), features, y


class GCN(nn.Module):
    def __init__(self, depth, width=32, kinds=5):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(depth - 1))
        self.out = nn.Linear(width, kinds)

    def forward(self, adjacency, h):
        for layer in self.layers:
            h = F.dropout(F.relu(adjacency @ layer(h)), 0.2, self.training)
        return adjacency @ self.out(h)


def main(watch, faulty):
    adjacency, features, y = communities()
    order = torch.randperm(600)
    train, val, test = order[:200], order[200:350], order[350:]
    model = GCN(depth=16 if faulty else 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    with watch(model, optimizer) as monitor:
        for epoch in range(200):
            model.train()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(adjacency, features)[train], y[train])
            loss.backward()
            optimizer.step()
            if epoch % 10 == 9:
                model.eval()
                with torch.no_grad():
                    out = model(adjacency, features)
                right = (out.argmax(1) == y).float()
                monitor.log(
                    val_loss=F.cross_entropy(out[val], y[val]).item(),
                    train_acc=right[train].mean().item(),
                    val_acc=right[val].mean().item(),
                )
    model.eval()
    with torch.no_grad():
        return (model(adjacency, features).argmax(1) == y)[test].float().mean().item()
