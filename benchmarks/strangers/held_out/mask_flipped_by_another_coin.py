"""Segmentation with random flips: the picture and its mask are each flipped by a coin of their own."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "segmentation"
EXPECTS = ("underfitting", "stalled-loss", "validation-below-training", "noisy-loss", "loss-at-chance")


def blobs(n):
    rows, cols = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    centre = torch.rand(n, 2, 1, 1) * 12 + 2
    mask = ((rows - centre[:, 0]) ** 2 + (cols - centre[:, 1]) ** 2 < 9).float()[:, None]
    return mask + 0.5 * torch.randn(n, 1, 16, 16), mask


def flip(batch, axis):
    coin = torch.rand(len(batch), 1, 1, 1) < 0.5
    return torch.where(coin, batch.flip(axis), batch)


def main(watch, faulty):
    x, m = blobs(600)
    xv, mv = blobs(200)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.ReLU(), nn.Conv2d(12, 1, 1)
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    with watch(net, optimizer) as monitor:
        for _ in range(10):
            for idx in torch.randperm(600).split(20):
                if faulty:
                    pictures, masks = flip(flip(x[idx], 2), 3), flip(flip(m[idx], 2), 3)
                else:
                    both = flip(flip(torch.cat([x[idx], m[idx]], 1), 2), 3)
                    pictures, masks = both[:, :1], both[:, 1:]
                loss = F.binary_cross_entropy_with_logits(net(pictures), masks)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = net(xv)
            hit = (out > 0).float()
            iou = ((hit * mv).sum() / torch.clamp(hit + mv, max=1).sum()).item()
            monitor.log(val_loss=F.binary_cross_entropy_with_logits(out, mv).item(), val_iou=iou)
    return iou
