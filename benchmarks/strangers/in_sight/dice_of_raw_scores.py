"""Segmentation with a Dice loss on the raw scores: the sigmoid was forgotten."""

import torch
from torch import nn

FAMILY = "segmentation"
EXPECTS = (
    "mismatched-loss",
    "unbounded-negative-loss",
    "diverging-loss",
    "oscillating-loss",
    "noisy-loss",
    "stalled-loss",
)


def scenes(n):
    """Noisy pictures with a bright disc, and where the disc is."""
    grid = torch.arange(24.0)
    cy, cx, r = torch.rand(n, 1, 1) * 14 + 5, torch.rand(n, 1, 1) * 14 + 5, torch.rand(n, 1, 1) * 3 + 2
    mask = ((grid.view(1, -1, 1) - cy) ** 2 + (grid.view(1, 1, -1) - cx) ** 2 <= r**2).float()
    return (0.6 * mask + 0.5 * torch.randn(n, 24, 24)).unsqueeze(1), mask.unsqueeze(1)


def dice_loss(p, mask, eps=1.0):
    overlap = (p * mask).sum((1, 2, 3))
    return 1 - ((2 * overlap + eps) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + eps)).mean()


def main(watch, faulty):
    (x, m), (xt, mt) = scenes(600), scenes(200)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=2, dilation=2),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 1, 1),
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(15):
            net.train()
            for idx in torch.randperm(len(x)).split(20):
                out = net(x[idx])
                loss = dice_loss(out if faulty else torch.sigmoid(out), m[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            net.eval()
            with torch.no_grad():
                hit = torch.sigmoid(net(xt)) > 0.5
            iou = ((hit * mt).sum() / ((hit + mt) > 0).sum()).item()
            monitor.log({"val/iou": iou})
    return iou
