"""Healthy: adversarial training; the training loss is on attacked pictures and stays far above the validation loss."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ()


def attack(model, x, y, eps):
    x = (x + eps * (2 * torch.rand_like(x) - 1)).requires_grad_(True)
    (slope,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
    return (x + eps * slope.sign()).detach().clamp(0, 1)


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
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    monitor = watch(model, optimizer)
    for epoch in range(14):
        model.train()
        for xb, yb in loader:
            bad = attack(model, xb, yb, 0.15)
            optimizer.zero_grad()
            F.cross_entropy(model(bad), yb).backward()
            optimizer.step()
        model.eval()
        xv, yv = x[1400:], y[1400:]
        robust = (model(attack(model, xv, yv, 0.15)).argmax(1) == yv).float().mean().item()
        with torch.no_grad():
            out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc, robust_acc=robust, epoch=epoch)
    monitor.close()
    assert acc > 0.93 and robust > 0.6, (acc, robust)
    return robust
