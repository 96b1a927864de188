"""Quantisation-aware training that rounds the weights with torch.round, whose gradient is zero everywhere."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits, fit

FAMILY = "quantisation"
EXPECTS = ("silent-parameter", "dead-layer", "vanishing-gradient", "stuck-from-start", "loss-at-chance",
           "unmoved-parameter", "stalled-loss", "underfitting")  # fmt: skip


class QuantLinear(nn.Linear):
    straight = True

    def forward(self, x):
        scale = self.weight.detach().abs().max() / 7
        q = torch.round(self.weight / scale) * scale
        if self.straight:
            q = self.weight + (q - self.weight).detach()
        return F.linear(x, q, self.bias)


def main(watch, faulty):
    model = nn.Sequential(QuantLinear(64, 24), nn.ReLU(), QuantLinear(24, 24), nn.ReLU(), QuantLinear(24, 10))
    for layer in model:
        if isinstance(layer, QuantLinear):
            layer.straight = not faulty
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return fit(watch, model, optimizer, digits(), epochs=15)
