"""F.dropout without training=self.training: dropout goes on in evaluation, and every evaluation is a different one."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits, fit

FAMILY = "conv net"
EXPECTS = ("stochastic-evaluation", "evaluating-in-train-mode", "erratic-validation")


class Net(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.conv1, self.conv2, self.fc = nn.Conv2d(1, 16, 3, padding=1), nn.Conv2d(16, 32, 3), nn.Linear(288, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv2(F.relu(self.conv1(x)))), 2).flatten(1)
        x = F.dropout(x, 0.6, training=True if self.faulty else self.training)
        return self.fc(x)


def main(watch, faulty):
    model = Net(faulty)
    return fit(watch, model, torch.optim.Adam(model.parameters(), lr=2e-3), digits(flat=False), epochs=12)
