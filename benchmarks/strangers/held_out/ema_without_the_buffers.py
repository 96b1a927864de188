"""The averaged copy follows the parameters and not the buffers: its BatchNorm layers still have the statistics they
were born with."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import digits

FAMILY = "weight averaging"
EXPECTS = ("stale-statistics", "gap-from-start", "misread-validation", "nothing-generalises", "erratic-validation")


def deep_mlp(width=80, depth=6):
    layers, d = [], 64
    for _ in range(depth):
        layers += [nn.Linear(d, width, bias=False), nn.BatchNorm1d(width), nn.ReLU()]
        d = width
    return nn.Sequential(*layers, nn.Linear(width, 10))


class ModelEMA:
    def __init__(self, model, decay):
        self.shadow = copy.deepcopy(model).eval().requires_grad_(False)
        self.decay = decay

    @torch.no_grad()
    def update(self, model, with_buffers):
        for s, p in zip(self.shadow.parameters(), model.parameters(), strict=False):
            s.lerp_(p, 1 - self.decay)
        if with_buffers:
            for s, b in zip(self.shadow.buffers(), model.buffers(), strict=False):
                s.copy_(b)


@torch.no_grad()
def test(model, x, y):
    out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main(watch, faulty):
    x, y, xt, yt = digits()
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = deep_mlp()
    ema = ModelEMA(model, 0.95)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)
    epochs = 10
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for xb, yb in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(xb), yb).backward()
                optimizer.step()
                ema.update(model, with_buffers=not faulty)
            sched.step()
            loss, acc = test(ema.shadow, xt, yt)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    return acc
