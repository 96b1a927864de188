"""Fine-tuning with a learning rate per layer, and the list is reversed: the first layers of the trained body get the
rate of the new head, and the head the tiny one of the first layers."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "fine-tuning"
EXPECTS = (
    "undersized-update",
    "oversized-update",
    "unmoved-parameter",
    "vanished-learning-rate",
    "stalled-loss",
    "underfitting",
)


def main(watch, faulty):
    x, y, xt, yt = digits()
    body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU())
    task = nn.Linear(64, 2)
    first = torch.optim.Adam([*body.parameters(), *task.parameters()], lr=2e-3)
    for _ in range(10):  # an earlier task: odd or even
        for idx in torch.randperm(1400).split(64):
            first.zero_grad()
            F.cross_entropy(task(body(x[idx])), y[idx] % 2).backward()
            first.step()
    model = nn.Sequential(body, nn.Linear(64, 10))
    layers = [body[0], body[2], body[4], model[1]]
    rates = [2e-3 / 8 ** (3 - depth) for depth in range(4)]
    if faulty:
        rates = rates[::-1]
    optimizer = torch.optim.SGD(
        [{"params": layer.parameters(), "lr": 50 * rate} for layer, rate in zip(layers, rates, strict=True)],
        momentum=0.9,
    )
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            model.train()
            for idx in torch.randperm(300).split(32):
                loss = F.cross_entropy(model(x[idx]), y[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
