"""One cycle with a high peak, as fastai does it: momentum cycles the other way, everything per batch."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class Block(nn.Module):
    def __init__(self, ni, nf):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(ni, nf, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(nf)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    model = nn.Sequential(
        Block(1, 16), Block(16, 32), Block(32, 64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)
    )
    epochs, bs = 8, 64
    opt = torch.optim.AdamW(model.parameters(), lr=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, epochs=epochs, steps_per_epoch=1400 // bs + 1)
    with watch(model, opt, config={"classes": 10}) as monitor:
        for _ in range(epochs):
            model.train()
            for idx in torch.randperm(1400).split(bs):
                loss = F.cross_entropy(model(X[idx]), y[idx])
                loss.backward()
                opt.step()
                opt.zero_grad()
                sched.step()
            model.eval()
            with monitor.validation(), torch.no_grad():
                out = model(X[1400:])
                acc = (out.argmax(1) == y[1400:]).float().mean().item()
                monitor.log(loss=F.cross_entropy(out, y[1400:]).item(), accuracy=acc)
    assert acc > 0.9
