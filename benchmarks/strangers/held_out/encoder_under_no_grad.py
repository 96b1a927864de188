"""A torch.no_grad() that was meant for evaluation is left round the encoder."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("silent-parameter", "unmoved-parameter", "dead-layer")


class Model(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.embed, self.encoder, self.head = nn.Embedding(50, 16), nn.GRU(16, 32, batch_first=True), nn.Linear(32, 4)

    def forward(self, x):
        with torch.no_grad() if self.faulty else contextlib.nullcontext():
            h = self.encoder(self.embed(x))[1][-1]
        return self.head(h)


def make(n):
    x = torch.randint(0, 50, (n, 12))
    return x, (x % 4 == 0).sum(1).clamp(max=3)


def main(watch, faulty):
    model = Model(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    xv, yv = make(500)
    monitor = watch(model, optimizer)
    for step in range(500):
        x, y = make(64)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    monitor.close()
    return acc
