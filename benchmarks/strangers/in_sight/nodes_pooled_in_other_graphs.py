"""The index that says which graph a node belongs to is made with repeat instead of repeat_interleave: graphs are
mixed in the pooling."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "graph classification"
EXPECTS = ("mixed-samples", "stuck-from-start", "loss-at-chance", "stalled-loss", "underfitting", "nothing-generalises")

NODES = 12


def graphs(n):
    """Rings and trees with random colours; the class says ring or tree and which colour is the most common."""
    colour = torch.randint(0, 3, (n, NODES))
    ring = torch.randint(0, 2, (n,))
    main_colour = torch.randint(0, 2, (n,))
    mostly = torch.rand(n, NODES) < 0.5
    colour = torch.where(mostly, main_colour[:, None], colour)
    adj = torch.zeros(n, NODES, NODES)
    for k in range(n):
        if ring[k]:
            a, b = torch.arange(NODES), (torch.arange(NODES) + 1) % NODES
        else:
            b = torch.arange(1, NODES)
            a = (torch.rand(NODES - 1) * b).long()
        adj[k, a, b] = 1
        adj[k, b, a] = 1
    return F.one_hot(colour, 3).float(), adj, ring * 2 + main_colour


class GIN(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.inp = nn.Linear(3, width)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(3)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.read = nn.Linear(width, 4)

    def forward(self, x, src, dst, batch, count):
        h = self.inp(x)
        for layer, norm in zip(self.layers, self.norms, strict=False):
            gathered = torch.zeros_like(h).index_add_(0, dst, h[src])
            h = F.relu(norm(layer(h + gathered))) + h
        pooled = h.new_zeros(count, h.shape[1]).index_add_(0, batch, h)
        return self.read(pooled / NODES)


def collate(x, adj, faulty):
    count = len(x)
    g, src, dst = adj.nonzero(as_tuple=True)
    index = torch.arange(count)
    batch = index.repeat(NODES) if faulty else index.repeat_interleave(NODES)
    return x.reshape(-1, 3), g * NODES + src, g * NODES + dst, batch, count


def main(watch, faulty):
    x, adj, y = graphs(1600)
    xv, av, yv = graphs(300)
    model = GIN()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    epochs = 10
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            for rows in torch.randperm(len(x)).split(40):
                out = model(*collate(x[rows], adj[rows], faulty))
                loss = F.cross_entropy(out, y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            sched.step()
            with torch.no_grad():
                out = model(*collate(xv, av, faulty))
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(epoch=epoch, val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
