"""A hand-written recurrent loop that starts every step from zeros: the recurrent weights never get a gradient."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("silent-parameter", "unmoved-parameter", "loss-at-chance", "stuck-from-start", "underfitting")


class Parity(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.cell, self.out = nn.GRUCell(4, 32), nn.Linear(32, 2)

    def forward(self, x):
        zeros = x.new_zeros(len(x), 32)
        h = zeros
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], zeros if self.faulty else h)
        return self.out(h)


def make(n):
    x = torch.randn(n, 6, 4)
    return x, (x[:, :, 0].sum(1) > 0).long()


def main(watch, faulty):
    model = Parity(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    monitor = watch(model, optimizer)
    xv, yv = make(500)
    for step in range(500):
        x, y = make(64)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 49:
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    monitor.close()
    return acc
