"""Tones are classified from a power spectrum without a logarithm: a few loud recordings are all that the net sees."""

import torch
from torch import nn

from strangers.common import fit

FAMILY = "audio"
EXPECTS = ("unnormalised-input", "extreme-input", "stalled-loss", "oscillating-loss", "noisy-loss", "loss-spike",
           "wrong-initial-loss", "dead-units", "underfitting", "erratic-validation", "overfitting")  # fmt: skip


def tones(n):
    label = torch.randint(0, 6, (n,))
    pitch = 10 + 6 * label.float() + torch.randn(n)
    t = torch.arange(256) / 256
    loud = 10 ** torch.empty(n, 1).uniform_(-2, 2.5)
    wave = loud * (torch.sin(2 * torch.pi * pitch[:, None] * t) + 0.6 * torch.randn(n, 256))
    return torch.fft.rfft(wave).abs() ** 2, label


def main(watch, faulty):
    (x, y), (xv, yv) = tones(1000), tones(300)
    if not faulty:
        x, xv = torch.log(x + 1e-6), torch.log(xv + 1e-6)
        mean, std = x.mean(), x.std()
        x, xv = (x - mean) / std, (xv - mean) / std
    model = nn.Sequential(nn.Linear(129, 64), nn.ReLU(), nn.Linear(64, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    return fit(watch, model, optimizer, (x, y, xv, yv), epochs=15, batch=32)
