"""PGD adversarial training: every batch is attacked first, gradients of the attack are thrown away."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def pgd(model, x, y, epsilon=0.15, alpha=0.06, steps=4):
    delta = torch.zeros_like(x).uniform_(-epsilon, epsilon).requires_grad_()
    for _ in range(steps):
        F.cross_entropy(model(x + delta), y).backward()
        with torch.no_grad():
            delta.add_(alpha * delta.grad.sign()).clamp_(-epsilon, epsilon)
        delta.grad.zero_()
    return delta.detach()


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        for i in torch.randperm(1400).split(64):
            delta = pgd(model, X[i], y[i])
            optimizer.zero_grad()
            loss = F.cross_entropy(model(X[i] + delta), y[i])
            loss.backward()
            optimizer.step()
        clean = (model(X[1400:]).argmax(1) == y[1400:]).float().mean().item()
        delta = pgd(model, X[1400:], y[1400:])
        optimizer.zero_grad()
        with torch.no_grad():
            robust = (model(X[1400:] + delta).argmax(1) == y[1400:]).float().mean().item()
        monitor.log(clean_accuracy=clean, robust_accuracy=robust, epoch=epoch)
    monitor.close()
    assert clean > 0.8
    assert robust > 0.4
