"""LARS with huge batches: layer-wise trust ratios, warm-up, polynomial decay, a handful of steps per epoch."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class LARS(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9, weight_decay=1e-4, eta=0.02):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, eta=eta))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            for p in g["params"]:
                d = p.grad
                if p.ndim > 1:
                    d = d.add(p, alpha=g["weight_decay"])
                    size, slope = p.norm(), d.norm()
                    d = d * torch.where((size > 0) & (slope > 0), g["eta"] * size / slope, torch.ones(()))
                state = self.state[p]
                state["mu"] = d if "mu" not in state else g["momentum"] * state["mu"] + d
                p.add_(state["mu"], alpha=-g["lr"])


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = LARS(model.parameters(), lr=1.0)
    total = 30 * 4
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min((s + 1) / 20, (1 - s / total) ** 2))
    monitor = watch(model, optimizer)
    for epoch in range(30):
        model.train()
        for i in torch.randperm(1400).split(350):
            loss = F.cross_entropy(model(X[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        model.eval()
        with torch.no_grad():
            out = model(X[1400:])
        accuracy = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_accuracy=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.85
