"""Sharpness-aware minimisation: a first backward to climb, a second one at the climbed weights, then the real step."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base, rho=0.05, **kwargs):
        super().__init__(params, dict(rho=rho, **kwargs))
        self.base = base(self.param_groups, **kwargs)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.norm(torch.stack([p.grad.norm() for g in self.param_groups for p in g["params"]]))
        for group in self.param_groups:
            for p in group["params"]:
                e = p.grad * (group["rho"] / (norm + 1e-12))
                self.state[p]["e"] = e
                p.add_(e)
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["e"])
        self.base.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = SAM(model.parameters(), torch.optim.SGD, lr=0.1, momentum=0.9)
    monitor = watch(model, optimizer.base)
    for epoch in range(12):
        model.train()
        for i in torch.randperm(1400).split(100):
            F.cross_entropy(model(X[i]), y[i]).backward()
            optimizer.first_step()
            F.cross_entropy(model(X[i]), y[i]).backward()
            optimizer.second_step()
        model.eval()
        with torch.no_grad():
            out = model(X[1400:])
        top1 = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log({"val/top1": 100 * top1, "val/loss": F.cross_entropy(out, y[1400:]).item(), "epoch": epoch})
    monitor.close()
    assert top1 > 0.88
