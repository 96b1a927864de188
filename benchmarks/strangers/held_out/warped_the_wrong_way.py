"""Stereo without labels: the right picture is warped with plus the disparity where it should be minus, so depth comes
out reversed."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "unsupervised stereo"
EXPECTS = ("worse-than-guess", "misread-validation", "worsening-metric", "metric-loss-disagreement", "gap-from-start")

WIDTH = 48


def lines(n):
    """Scan lines of a left and a right camera; near things are shifted further to the left in the right one."""
    raw = F.interpolate(torch.randn(n, 1, 40), size=WIDTH + 12, mode="linear", align_corners=True)
    disparity = 1 + 3 * torch.rand(n, 1)
    at = torch.arange(WIDTH).float()
    left = raw[:, 0, 4 : 4 + WIDTH]
    src = at + 4 + disparity
    low = src.floor().long()
    part = src - low
    row = raw[:, 0]
    right = row.gather(1, low) * (1 - part) + row.gather(1, low + 1) * part
    return left, right, disparity.squeeze(1)


def warp(row, shift):
    """row[x + shift], linear in between."""
    at = (torch.arange(WIDTH) + shift[:, None]).clamp(0, WIDTH - 1.001)
    low = at.floor().long()
    part = at - low
    return row.gather(1, low) * (1 - part) + row.gather(1, low + 1) * part


class Stereo(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Conv1d(1, 16, 5, padding=2)
        self.head = nn.Sequential(nn.Linear(9, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, left, right):
        a, b = self.shared(left[:, None]), self.shared(right[:, None])
        cost = [(a[..., 6:-6] * b[..., 6 + k : b.shape[-1] - 6 + k]).mean((1, 2)) for k in range(-4, 5)]
        cost = torch.stack(cost, 1)
        return self.head(cost / (cost.abs().mean(1, keepdim=True) + 1e-4)).squeeze(1)


def main(watch, faulty):
    model = Stereo()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    steps = 700
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    lv, rv, dv = lines(400)
    inner = slice(6, WIDTH - 6)
    monitor = watch(model, optimizer)
    for step in range(steps):
        left, right, _ = lines(48)
        d = model(left, right)
        rebuilt = warp(right, d if faulty else -d)
        loss = (rebuilt - left)[:, inner].abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sched.step()
        if step % 60 == 59:
            with torch.no_grad():
                d = model(lv, rv)
                val = (warp(rv, d if faulty else -d) - lv)[:, inner].abs().mean().item()
            r2 = 1 - ((d - dv).pow(2).mean() / dv.var()).item()
            monitor.log(step=step, val_photometric=val, val_r2=r2)
    monitor.close()
    return r2
