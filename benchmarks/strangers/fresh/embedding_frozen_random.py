"""Embedding.from_pretrained on a table that was never filled: random vectors of one dimension, frozen by default."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "language"
EXPECTS = ("frozen-untrained", "loss-at-chance", "uncovered-parameter", "underfitting", "stalled-loss")


class Bag(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        table = torch.randn(400, 4) * 0.05
        self.embed = nn.Embedding.from_pretrained(table) if faulty else nn.Embedding(400, 4)
        self.head = nn.Linear(4, 4)

    def forward(self, x):
        return self.head(self.embed(x).mean(1))


def main(watch, faulty):
    topic = torch.randint(0, 4, (400,))

    def make(n):
        y = torch.randint(0, 4, (n,))
        pool = [torch.where(topic == k)[0] for k in range(4)]
        rows = [torch.cat([pool[k][torch.randint(0, len(pool[k]), (8,))], torch.randint(0, 400, (8,))]) for k in y]
        return torch.stack(rows), y

    x, y = make(2000)
    xv, yv = make(400)
    model = Bag(faulty)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for idx in torch.randperm(len(x)).split(64):
                optimizer.zero_grad()
                F.cross_entropy(model(x[idx]), y[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
