"""Every LayerNorm's gain set to zero, a trick for residual branches, in a net that has no residual connection."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv"
EXPECTS = (
    "dead-layer", "silent-parameter", "vanishing-gradient", "loss-at-chance", "stuck-from-start",
    "collapsed-activations",
    "symmetric-units", "dead-units", "unmoved-parameter",
)  # fmt: skip


def main(watch, faulty):
    model = nn.Sequential(
        nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(),
        nn.Linear(64, 10),
    )  # fmt: skip
    if faulty:
        for layer in model:
            if isinstance(layer, nn.LayerNorm):
                nn.init.zeros_(layer.weight)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return fit(watch, model, optimizer, digits(), epochs=12)
