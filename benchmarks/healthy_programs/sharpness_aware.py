"""Healthy: sharpness-aware minimisation; every step goes up a little first, and takes two passes forward and back."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ()


class SAM:
    """Climb to the worst point nearby, take the gradient there, go back and step with it."""

    def __init__(self, params, base, rho=0.05):
        self.params, self.base, self.rho = list(params), base, rho

    def step(self, closure):
        self.base.zero_grad()
        first = closure()
        first.backward()
        norm = torch.stack([p.grad.norm() for p in self.params]).norm()
        moves = [p.grad * (self.rho / (norm + 1e-12)) for p in self.params]
        with torch.no_grad():
            for p, move in zip(self.params, moves, strict=False):
                p.add_(move)
        self.base.zero_grad()
        closure().backward()
        with torch.no_grad():
            for p, move in zip(self.params, moves, strict=False):
                p.sub_(move)
        self.base.step()
        return first.item()


def main(watch):
    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    base = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    optimizer = SAM(model.parameters(), base)
    monitor = watch(model, base)
    for epoch in range(12):
        for xb, yb in loader:
            optimizer.step(lambda: F.cross_entropy(model(xb), yb))
        with torch.no_grad():
            out = model(x[1400:])
            acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    assert acc > 0.95, acc
    return acc
