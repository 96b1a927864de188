"""Two parameter groups for fine-tuning, and the rates are exchanged: the new head learns at the rate that was meant for
the trained body, and the body at that of the head."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "fine-tuning"
EXPECTS = (
    "oversized-update",
    "undersized-update",
    "lost-progress",
    "weight-jump",
    "diverging-loss",
    "overfitting",
    "loss-at-chance",
    "missing-warmup",
    "stuck-from-start",
)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(512, 64),
            nn.ReLU(),
        )
        self.head = nn.Linear(64, 7)

    def forward(self, x):
        return self.head(self.body(x))


def run_epoch(model, optimizer, x, y, batch):
    for rows in torch.randperm(len(x)).split(batch):
        optimizer.zero_grad()
        F.cross_entropy(model(x[rows]), y[rows]).backward()
        optimizer.step()


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = Model()
    pretraining = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(10):
        run_epoch(model, pretraining, x[y < 7], y[y < 7], 64)
    model.head = nn.Linear(64, 3)
    few = (y >= 7).nonzero().squeeze(1)[:90]
    x, y, xt, yt = x[few], y[few] - 7, xt[yt >= 7], yt[yt >= 7] - 7
    slow, fast = ("head", "body") if faulty else ("body", "head")
    optimizer = torch.optim.SGD(
        [
            {"params": getattr(model, slow).parameters(), "lr": 1e-4},
            {"params": getattr(model, fast).parameters(), "lr": 0.3},
        ],
        momentum=0.9,
    )
    with watch(model, optimizer) as monitor:
        for _ in range(25):
            run_epoch(model, optimizer, x, y, 10)
            loss, acc = accuracy(model, xt[:40], yt[:40])
            monitor.log(val_loss=loss, val_acc=acc)
    return accuracy(model, xt[40:], yt[40:])[1]
