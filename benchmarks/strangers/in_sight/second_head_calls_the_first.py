"""Copied and not changed: the second task's answer is computed by the first task's head."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "copy-paste slip"
EXPECTS = ("silent-parameter", "stalled-loss", "underfitting", "loss-at-chance", "unmoved-parameter")


class TwoHeads(nn.Module):
    def __init__(self, faulty, width=64):
        super().__init__()
        self.faulty = faulty
        self.trunk = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.colour_head = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 4))
        self.shape_head = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        h = self.trunk(x)
        colour = self.colour_head(h)
        shape = self.colour_head(h) if self.faulty else self.shape_head(h)
        return colour, shape


def make(n, centres):
    colour, shape = torch.randint(0, 4, (n,)), torch.randint(0, 4, (n,))
    x = torch.cat([centres[0][colour], centres[1][shape]], 1) + 0.6 * torch.randn(n, 16)
    return x, colour, shape


def main(watch, faulty):
    centres = torch.randn(2, 4, 8)
    x, colour, shape = make(2000, centres)
    xv, cv, sv = make(500, centres)
    model = TwoHeads(faulty)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _epoch in range(15):
            for idx in torch.randperm(len(x)).split(50):
                a, b = model(x[idx])
                loss = F.cross_entropy(a, colour[idx]) + F.cross_entropy(b, shape[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            for g in opt.param_groups:
                g["lr"] *= 0.8
            with torch.no_grad():
                a, b = model(xv)
            acc_c = (a.argmax(1) == cv).float().mean().item()
            acc_s = (b.argmax(1) == sv).float().mean().item()
            val = (F.cross_entropy(a, cv) + F.cross_entropy(b, sv)).item()
            monitor.log(val_loss=val, val_colour_acc=acc_c, val_shape_acc=acc_s)
    return (acc_c + acc_s) / 2
