"""Graph convolution: degrees are raised to -1/2 without self-loops or a floor; a few nodes have no neighbour, and
infinity times zero is NaN."""

import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "graph"
EXPECTS = ("nonfinite-activation", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weights", "nonfinite-input")


def citation_graph(n=500, classes=4):
    y = torch.randint(0, classes, (n,))
    p = torch.where(y[:, None] == y[None, :], 0.03, 0.004)
    a = torch.triu((torch.rand(n, n) < p).float(), 1)
    a = a + a.T
    a[:5] = 0  # newcomers: nobody has cited them
    a[:, :5] = 0
    centre = 0.9 * torch.randn(classes, 16)
    return centre[y] + 1.3 * torch.randn(n, 16), a, y


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out, floor):
        super().__init__()
        self.lin = nn.Linear(n_in, n_out)
        self.root = nn.Linear(n_in, n_out, bias=False)
        self.floor = floor

    def forward(self, x, adj):
        deg = adj.sum(1)
        if self.floor:
            deg = deg.clamp(min=1)
        d = deg.pow(-0.5)
        norm = d[:, None] * adj * d[None, :]
        return self.root(x) + norm @ self.lin(x)


class GCN(nn.Module):
    def __init__(self, floor=True):
        super().__init__()
        self.conv1, self.conv2 = GraphConv(16, 24, floor), GraphConv(24, 4, floor)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.conv1(x, adj)), 0.5, self.training)
        return self.conv2(x, adj)


def main(watch, faulty):
    x, adj, y = citation_graph()
    order = torch.randperm(len(x))
    train, val, test = order[:250], order[250:350], order[350:]
    model = GCN(floor=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 250)
    with watch(model, optimizer) as monitor:
        for epoch in range(250):
            model.train()
            optimizer.zero_grad()
            out = model(x, adj)
            F.cross_entropy(out[train], y[train]).backward()
            optimizer.step()
            scheduler.step()
            if epoch % 10 == 9:
                model.eval()
                with torch.no_grad():
                    out = model(x, adj)
                    acc = (out[val].argmax(1) == y[val]).float().mean().item()
                    monitor.log(epoch=epoch, val_loss=F.cross_entropy(out[val], y[val]).item(), val_acc=acc)
    return (out[test].argmax(1) == y[test]).float().mean().item()
