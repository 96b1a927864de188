"""Random erasing was given the side of the hole in pixels of the original pictures; on these, a third as wide, the hole
is nearly as large as the picture."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "data pipeline"
EXPECTS = ("underfitting", "stalled-loss", "heavy-dropout", "loss-at-chance", "stuck-from-start", "inputs-differ")


def erase(pictures, side):
    """A black square somewhere in every picture."""
    pictures = pictures.clone()
    for picture in pictures:
        top, left = (int(torch.randint(0, 8 - side + 1, ())) for _ in range(2))
        picture[:, top : top + side, left : left + side] = 0
    return pictures


def train_epoch(model, optimizer, x, y, side):
    model.train()
    for rows in torch.randperm(len(x)).split(50):
        loss = F.cross_entropy(model(erase(x[rows], side)), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(512, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(14):
            train_epoch(model, optimizer, x, y, side=7 if faulty else 3)
            loss, acc = accuracy(model, xt[:150], yt[:150])
            monitor.log(**{"val/loss": loss, "val/acc": acc})
    return accuracy(model, xt[150:], yt[150:])[1]
