"""Pixels are divided with // before they become floats, so that all but the brightest are zero."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "dtype"
EXPECTS = ("underfitting", "stalled-loss", "unnormalised-input", "loss-at-chance", "stuck-from-start", "overfitting")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    pixels, test = (x * 255).byte(), (xt * 255).byte()
    pixels = (pixels // 255 if faulty else pixels / 255).float()
    test = (test // 255 if faulty else test / 255).float()
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return fit(watch, model, optimizer, (pixels, y, test, yt), epochs=10)
