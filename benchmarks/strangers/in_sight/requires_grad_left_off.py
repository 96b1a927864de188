"""A helper froze the embedding for a first phase and nobody thawed it; its weights are random."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "loop"
EXPECTS = ("frozen-untrained", "silent-parameter", "unmoved-parameter", "uncovered-parameter")


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.EmbeddingBag(400, 8, mode="mean")
        self.hidden, self.out = nn.Linear(8, 32), nn.Linear(32, 2)

    def forward(self, x):
        return self.out(F.relu(self.hidden(self.embed(x))))


def main(watch, faulty):
    weight = torch.randn(400)
    x = torch.randint(0, 400, (3000, 12))
    y = (weight[x].sum(1) > 0).long()
    model = Bag()
    model.embed.weight.requires_grad_(not faulty)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    monitor = watch(model, optimizer)
    for _ in range(10):
        for i in torch.randperm(2500).split(50):
            loss = F.cross_entropy(model(x[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = model(x[2500:])
        acc = (out.argmax(1) == y[2500:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[2500:]).item(), val_acc=acc)
    monitor.close()
    return acc
