"""Fine-tuning a head on a frozen body that was trained on pixels between 0 and 1, and now gets them up to 255."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits, fit

FAMILY = "fine-tuning"
EXPECTS = ("unnormalised-input", "extreme-input", "wrong-initial-loss", "dead-units", "oscillating-loss",
           "stalled-loss", "underfitting", "noisy-loss", "collapsed-activations")  # fmt: skip


def main(watch, faulty):
    x, y, xt, yt = digits()
    body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
    old = nn.Sequential(body, nn.Linear(64, 5))
    first = torch.optim.Adam(old.parameters(), lr=3e-3)
    for _ in range(300):  # the old task: which pair of digits
        idx = torch.randint(0, len(x), (64,))
        first.zero_grad()
        F.cross_entropy(old(x[idx]), y[idx] // 2).backward()
        first.step()
    for p in body.parameters():
        p.requires_grad_(False)
    model = nn.Sequential(body, nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    scale = 255.0 if faulty else 1.0
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05, momentum=0.9)
    return fit(watch, model, optimizer, (x * scale, y, xt * scale, yt), epochs=15)
