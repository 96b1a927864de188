"""A highway gate whose bias starts at -20 instead of -2: sigmoid(-20) lets nothing through, and no gradient either."""

import torch
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv"
EXPECTS = ("vanishing-gradient", "saturated-units", "dead-layer", "undersized-update", "silent-parameter")


class Highway(nn.Module):
    def __init__(self, width, bias):
        super().__init__()
        self.transform, self.gate = nn.Linear(width, width), nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, bias)

    def forward(self, x):
        gate = torch.sigmoid(self.gate(x))
        return gate * torch.relu(self.transform(x)) + (1 - gate) * x


def main(watch, faulty):
    blocks = [Highway(64, -20.0 if faulty else -2.0) for _ in range(3)]
    model = nn.Sequential(*blocks, nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    return fit(watch, model, optimizer, digits(), epochs=15)
