"""SGDR: cosine with warm restarts, T_0 of 5 epochs doubling, stepped with fractional epochs inside the loop."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 8 - 1, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 100), nn.Tanh(), nn.Linear(100, 100), nn.Tanh(), nn.Linear(100, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=5, T_mult=2, eta_min=1e-4)
    monitor = watch(model, optimizer)
    iters = 1400 // 50
    for epoch in range(15):
        model.train()
        for i, idx in enumerate(torch.randperm(1400).split(50)):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(X[idx]), y[idx])
            loss.backward()
            optimizer.step()
            scheduler.step(epoch + i / iters)
        model.eval()
        with torch.no_grad():
            logits = model(X[1400:])
        acc = (logits.argmax(1) == y[1400:]).float().mean().item()
        monitor.log({"val/loss": F.cross_entropy(logits, y[1400:]).item(), "val/acc": acc})
    monitor.close()
    assert acc > 0.86
