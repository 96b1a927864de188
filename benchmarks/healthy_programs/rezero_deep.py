"""ReZero: twenty residual branches, each behind a gate that starts at zero, without any normalisation."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits


class ReZeroBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)
        self.alpha = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x + self.alpha * self.outer(F.gelu(self.inner(x)))


def main(watch):
    x, y, xv, yv = digits()
    model = nn.Sequential(nn.Linear(64, 48), *[ReZeroBlock(48) for _ in range(20)], nn.Linear(48, 10))
    gates = [p for n, p in model.named_parameters() if n.endswith("alpha")]
    rest = [p for n, p in model.named_parameters() if not n.endswith("alpha")]
    optimizer = torch.optim.AdamW(
        [{"params": rest, "weight_decay": 0.05}, {"params": gates, "weight_decay": 0.0}], lr=1e-3
    )
    epochs, per = 12, 28
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=epochs * per)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for rows in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
            loss, acc = accuracy(model, xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    assert acc > 0.92, acc
