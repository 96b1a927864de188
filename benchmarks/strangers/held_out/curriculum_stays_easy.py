"""The length of the training sums grows with epoch // epochs, which is a whole number and stays zero."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "curriculum"
EXPECTS = (
    "gap-from-start",
    "nothing-generalises",
    "overconfident",
    "suspiciously-perfect",
    "overfitting",
    "inputs-differ",
)


class Parity(nn.Module):
    """Running sum modulo five of a list of digits."""

    def __init__(self, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(10, 16)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 5)

    def forward(self, x):
        return self.out(self.gru(self.embed(x))[0])


def sums(n, length):
    x = torch.randint(0, 10, (n, length))
    return x, x.cumsum(1) % 5


def main(watch, faulty):
    shortest, longest, epochs = 2, 14, 12
    model = Parity()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    xv, yv = sums(400, longest)
    monitor = watch(model, opt)
    for epoch in range(epochs):
        progress = epoch // epochs if faulty else min(1.0, 1.6 * epoch / epochs)
        length = shortest + int(progress * (longest - shortest))
        for _ in range(60):
            x, y = sums(64, length)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        with torch.no_grad():
            out = model(xv)
        val, acc = (
            F.cross_entropy(out[:, -1], yv[:, -1]).item(),
            (out[:, -1].argmax(1) == yv[:, -1]).float().mean().item(),
        )
        monitor.log(epoch=epoch, length=length, val_loss=val, val_acc=acc)
    monitor.close()
    return acc
