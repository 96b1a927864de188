"""A moving average of the weights is kept in bfloat16 to save memory: a thousandth of the difference is less than the
next number there, and the average stays nearly where it began. It is the average that is evaluated and shipped."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "precision"
EXPECTS = ("swallowed-updates", "frozen-validation", "gap-from-start", "nothing-generalises", "misread-validation")


class Average:
    def __init__(self, model, decay, dtype):
        self.model, self.decay = copy.deepcopy(model).to(dtype), decay

    @torch.no_grad()
    def update(self, model):
        for mine, new in zip(self.model.parameters(), model.parameters(), strict=True):
            mine.lerp_(new.to(mine.dtype), 1 - self.decay)


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    average = Average(model, decay=0.999, dtype=torch.bfloat16 if faulty else torch.float32)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for _ in range(16):
            for rows in torch.randperm(len(x)).split(28):
                optimizer.zero_grad()
                F.cross_entropy(model(x[rows]), y[rows]).backward()
                optimizer.step()
                average.update(model)
            shipped = copy.deepcopy(average.model).float()
            loss, acc = accuracy(shipped, xt[:200], yt[:200])
            monitor.log(val_loss=loss, val_acc=acc)
    return accuracy(shipped, xt[200:], yt[200:])[1]
