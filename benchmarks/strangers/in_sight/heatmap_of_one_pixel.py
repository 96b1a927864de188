"""Keypoints as heatmaps with one bright pixel and a plain squared error: an empty map is almost perfect."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "detection"
EXPECTS = ("loss-at-chance", "underfitting", "stalled-loss", "collapsed-activations", "loss-without-accuracy")


def pictures(n):
    x, at = 0.3 * torch.randn(n, 1, 16, 16), torch.randint(2, 14, (n, 2))
    for i, (r, c) in enumerate(at.tolist()):
        x[i, 0, r - 1 : r + 2, c] += 1
        x[i, 0, r, c - 1 : c + 2] += 1
    return x, at


def main(watch, faulty):
    x, at = pictures(800)
    xt, att = pictures(200)
    heat = torch.zeros(800, 256)
    heat[torch.arange(800), at[:, 0] * 16 + at[:, 1]] = 1
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 1, 1),
        nn.Flatten(),
    )
    opt = torch.optim.SGD(net.parameters(), lr=0.01 if faulty else 0.1, momentum=0.9)
    with watch(net, opt) as monitor:
        for _ in range(15):
            for i in torch.randperm(800).split(32):
                out = net(x[i])
                loss = F.mse_loss(out.sigmoid(), heat[i]) if faulty else F.cross_entropy(out, heat[i].argmax(1))
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                found = net(xt).argmax(1)
            pck = ((found // 16 - att[:, 0]).abs().max((found % 16 - att[:, 1]).abs()) <= 1).float().mean().item()
            monitor.log(val_pck=pck)
    return pck
