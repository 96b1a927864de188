"""A .detach() left from debugging between the first layers and the last: two of three layers are never trained."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "small"
EXPECTS = ("silent-parameter", "dead-layer", "vanishing-gradient", "unmoved-parameter", "frozen-untrained")


class Net(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, 16), nn.Linear(16, 8), nn.Linear(8, 10)

    def forward(self, x):
        x = F.relu(self.fc2(F.relu(self.fc1(x))))
        return self.fc3(x.detach() if self.faulty else x)


def main(watch, faulty):
    x, y, xt, yt = digits()
    net = Net(faulty)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
    with watch(net, optimizer):
        for _ in range(300):
            optimizer.zero_grad()
            loss = F.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
    return (net(xt).argmax(1) == yt).float().mean().item()
