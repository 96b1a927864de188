"""The contrastive loss lacks the clamp at zero: pairs of different digits are paid for every bit of further
distance."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "siamese verification"
EXPECTS = ("unbounded-negative-loss", "runaway-weights", "growing-activations", "exploding-gradient", "diverging-loss")


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 16))

    def forward(self, x):
        return self.layers(x)


def contrastive(a, b, same, margin, faulty):
    d = (a - b).pow(2).sum(1).add(1e-8).sqrt()
    room = margin - d
    if not faulty:
        room = room.clamp(min=0)
    return torch.where(same, d, room).mean()


def pairs(x, y, n):
    """Half of the pairs are of one digit."""
    i = torch.randint(0, len(x), (n,))
    j = torch.randint(0, len(x), (n,))
    for k in range(0, n, 2):
        alike = (y == y[i[k]]).nonzero()[:, 0]
        j[k] = alike[torch.randint(0, len(alike), ())]
    return x[i], x[j], y[i] == y[j]


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    held = pairs(xt, yt, 800)
    steps = 800
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            a, b, same = pairs(x, y, 64)
            loss = contrastive(model(a), model(b), same, 1.0, faulty)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            sched.step()
            if step % 80 == 79:
                with torch.no_grad():
                    ea, eb = model(held[0]), model(held[1])
                    val = contrastive(ea, eb, held[2], 1.0, faulty).item()
                    right = (((ea - eb).norm(dim=1) < 0.5) == held[2]).float().mean().item()
                monitor.log(val_loss=val, val_verification=right)
    return right
