"""Six hidden layers of sigmoids under plain SGD: the digits net never leaves ln 10."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "small"
EXPECTS = ("vanishing-gradient", "stuck-from-start", "loss-at-chance", "undersized-update", "underfitting",
           "collapsed-activations")  # fmt: skip


def main(watch, faulty):
    x, y, xt, yt = digits()
    layers, width = [], 64
    for _ in range(6):
        layers += [nn.Linear(width, 30), nn.Sigmoid() if faulty else nn.ReLU()]
        width = 30
    model = nn.Sequential(*layers, nn.Linear(30, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with watch(model, optimizer):
        for _ in range(15):
            for start in range(0, len(x), 50):
                output = model(x[start : start + 50])
                loss = criterion(output, y[start : start + 50])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
    return (model(xt).argmax(1) == yt).float().mean().item()
