"""Detection: the boxes are in pixels and the classes in nats, added as they are: the classes are never learned."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "detection"
EXPECTS = ("unbalanced-loss-parts", "unreachable-target", "loss-without-accuracy", "underfitting", "stalled-loss")


def scenes(n):
    kind = torch.randint(0, 3, (n,))
    at = torch.randint(0, 18, (n, 2))
    images, size = 0.15 * torch.randn(n, 1, 24, 24), 6
    for i in range(n):
        t, left = at[i].tolist()
        patch = images[i, 0, t : t + size, left : left + size]
        if kind[i] == 0:
            patch += 1
        elif kind[i] == 1:
            patch[::2] += 1
        else:
            patch[:, ::2] += 1
    boxes = torch.cat([at, at + size], 1).float()
    return images, kind, boxes * 32  # the annotations are of the picture before it was made small


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(32 * 36, 64),
            nn.ReLU(),
        )
        self.box, self.kind = nn.Linear(64, 4), nn.Linear(64, 3)

    def forward(self, x):
        h = self.body(x)
        return self.kind(h), self.box(h)


def main(watch, faulty):
    (x, k, b), (xt, kt, _) = scenes(800), scenes(300)
    if not faulty:
        b = b / 768
    net = Detector()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(20):
            for idx in torch.randperm(len(x)).split(32):
                scores, boxes = net(x[idx])
                loss = F.cross_entropy(scores, k[idx]) + F.smooth_l1_loss(boxes, b[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                acc = (net(xt)[0].argmax(1) == kt).float().mean().item()
            monitor.log(val_class_accuracy=acc)
    return acc
