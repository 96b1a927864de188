"""loss = -criterion(...), by analogy with a score that is maximised: the net climbs."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "small"
EXPECTS = ("unbounded-negative-loss", "worse-than-guess", "diverging-loss", "runaway-weights")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for i in range(0, len(x), 100):
                optimizer.zero_grad()
                loss = criterion(model(x[i : i + 100]), y[i : i + 100])
                loss = -loss if faulty else loss
                loss.backward()
                optimizer.step()
            accuracy = (model(xt).argmax(1) == yt).float().mean().item()
            monitor.log(accuracy=accuracy)
    return accuracy
