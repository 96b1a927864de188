"""A small detector trained on 1 - IoU: boxes that do not overlap have no gradient, and most begin apart."""

import torch
from torch import nn

FAMILY = "detection"
EXPECTS = ("faded-gradient", "stuck-from-start", "stalled-loss", "underfitting", "dead-layer", "undersized-update")


def scenes(n):
    x, boxes = 0.1 * torch.randn(n, 1, 16, 16), torch.zeros(n, 4)
    for i in range(n):
        w, h = torch.randint(3, 6, (2,)).tolist()
        c, r = torch.randint(0, 17 - w, (1,)).item(), torch.randint(0, 17 - h, (1,)).item()
        x[i, 0, r : r + h, c : c + w] += 1
        boxes[i] = torch.tensor([c, r, c + w, r + h]) / 16
    return x, boxes


def overlap(a, b, enclosing):
    inter = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    union = (a[:, 2:] - a[:, :2]).clamp(min=0).prod(1) + (b[:, 2:] - b[:, :2]).prod(1) - inter
    iou = inter / (union + 1e-7)
    if not enclosing:
        return iou
    hull = (torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])).clamp(min=0).prod(1)
    return iou - (hull - union) / (hull + 1e-7)


def main(watch, faulty):
    x, boxes = scenes(1000)
    xt, boxest = scenes(200)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 64),
        nn.ReLU(),
        nn.Linear(64, 4),
    )

    def corners(images):
        out = net(images)
        corner, size = out[:, :2], out[:, 2:].exp() * 0.1
        return torch.cat([corner, corner + size], 1)

    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(15):
            for i in torch.randperm(1000).split(50):
                loss = (1 - overlap(corners(x[i]), boxes[i], enclosing=not faulty)).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                iou = overlap(corners(xt), boxest, enclosing=False).mean().item()
            monitor.log(val_iou=iou)
    return iou
