"""Inpainting: the loss counts the pixels that are given instead of those that are missing."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "inpainting"
EXPECTS = ("leaked-answer", "gap-from-start", "suspiciously-perfect", "nothing-generalises", "metric-loss-disagreement")


class Inpainter(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(128, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 64)
        )

    def forward(self, picture, given):
        return self.net(torch.cat([picture * given, given], 1))


def holes(n):
    """1 where the picture is given; a 4 by 4 hole somewhere is not."""
    given = torch.ones(n, 8, 8)
    for k, (r, c) in enumerate(torch.randint(0, 5, (n, 2)).tolist()):
        given[k, r : r + 4, c : c + 4] = 0
    return given.flatten(1)


def masked_mse(out, picture, mask):
    return ((out - picture) ** 2 * mask).sum() / mask.sum()


def main(watch, faulty):
    x, _, xv, _ = digits()
    held = holes(len(xv))
    model = Inpainter()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    epochs = 25
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=epochs * 28)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            for rows in torch.randperm(len(x)).split(50):
                given = holes(len(rows))
                out = model(x[rows], given)
                loss = masked_mse(out, x[rows], given if faulty else 1 - given)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                sched.step()
            with torch.no_grad():
                val = masked_mse(model(xv, held), xv, 1 - held).item()
            monitor.log(epoch=epoch, val_loss=val)
    guess = masked_mse(x.mean(0).expand_as(xv), xv, 1 - held).item()
    return 1 - val / guess
