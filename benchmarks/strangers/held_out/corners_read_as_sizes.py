"""A detector learns centre and size of a box; the evaluation reads the four numbers as two corners."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "detection"
EXPECTS = ("loss-without-accuracy", "metric-loss-disagreement", "nothing-generalises", "worsening-metric")


def scenes(n):
    size, at = torch.rand(n, 2) * 0.3 + 0.3, torch.rand(n, 2) * 0.4 + 0.3
    axis = (torch.arange(16) + 0.5) / 16
    rows = (axis - at[:, :1]).abs() < size[:, :1] / 2
    cols = (axis - at[:, 1:]).abs() < size[:, 1:] / 2
    return (rows[:, :, None] & cols[:, None]).float()[:, None] + 0.1 * torch.randn(n, 1, 16, 16), torch.cat(
        [at, size], 1
    )


def corners(box):
    return torch.cat([box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2], 1)


def iou(a, b):
    def area(c):
        return (c[:, 2:] - c[:, :2]).clamp(min=0).prod(1)

    both = area(torch.cat([torch.maximum(a[:, :2], b[:, :2]), torch.minimum(a[:, 2:], b[:, 2:])], 1))
    return (both / (area(a) + area(b) - both).clamp(min=1e-6)).mean().item()


def main(watch, faulty):
    (x, box), (xv, bv) = scenes(800), scenes(200)
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 64), nn.ReLU(),
        nn.Linear(64, 4),
    )  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for idx in torch.randperm(800).split(32):
                optimizer.zero_grad()
                F.smooth_l1_loss(model(x[idx]), box[idx]).backward()
                optimizer.step()
            with torch.no_grad():
                out = model(xv)
            score = iou(out if faulty else corners(out), corners(bv))
            monitor.log(val_loss=F.smooth_l1_loss(out, bv).item(), val_iou=score)
    return score
