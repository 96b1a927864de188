"""The averaged copy of the network follows the parameters only: its BatchNorm buffers stay as they were made, and it
is the copy that is evaluated."""

import copy

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import digits

FAMILY = "weight averaging"
EXPECTS = ("stale-statistics", "gap-from-start", "nothing-generalises", "erratic-validation")


class ModelEMA:
    def __init__(self, model, decay=0.95, with_buffers=True):
        self.module = copy.deepcopy(model).eval()
        self.decay, self.with_buffers = decay, with_buffers
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for e, m in zip(self.module.parameters(), model.parameters(), strict=False):
            e.mul_(self.decay).add_(m, alpha=1 - self.decay)
        if self.with_buffers:
            for e, m in zip(self.module.buffers(), model.buffers(), strict=False):
                e.copy_(m)


def block(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


@torch.no_grad()
def evaluate(net, x, y):
    net.eval()
    out = net(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    x, xt = x * 2 - 0.6, xt * 2 - 0.6
    loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
    model = nn.Sequential(
        block(1, 16),
        nn.MaxPool2d(2),
        block(16, 24),
        block(24, 32),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )
    ema = ModelEMA(model, with_buffers=not faulty)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            model.train()
            for data, target in loader:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(data), target)
                loss.backward()
                optimizer.step()
                ema.update(model)
            scheduler.step()
            val_loss, val_acc = evaluate(ema.module, xt, yt)
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc)
    return val_acc
