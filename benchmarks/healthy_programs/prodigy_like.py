"""A learning-rate-free optimizer (D-adaptation in the manner of Prodigy): lr=1.0, the step size grows by itself."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class Prodigy(torch.optim.Optimizer):
    def __init__(self, params, lr=1.0, betas=(0.9, 0.999), d0=1e-4):
        super().__init__(params, dict(lr=lr, betas=betas))
        self.d, self.numerator = d0, 0.0

    @torch.no_grad()
    def step(self, closure=None):
        below, gain = 0.0, 0.0
        for g in self.param_groups:
            b1, b2 = g["betas"]
            for p in g["params"]:
                s = self.state[p]
                if not s:
                    s.update(p0=p.clone(), m=torch.zeros_like(p), v=torch.zeros_like(p), s=torch.zeros_like(p))
                gain += self.d**2 * torch.dot(p.grad.flatten(), (s["p0"] - p).flatten()).item()
                s["m"].mul_(b1).add_(p.grad, alpha=self.d * (1 - b1))
                s["v"].mul_(b2).addcmul_(p.grad, p.grad, value=self.d**2 * (1 - b2))
                s["s"].mul_(b2**0.5).add_(p.grad, alpha=(1 - b2**0.5) * self.d**2)
                below += s["s"].abs().sum().item()
        self.numerator = b2**0.5 * self.numerator + (1 - b2**0.5) * gain
        for g in self.param_groups:
            for p in g["params"]:
                s = self.state[p]
                p.addcdiv_(s["m"], s["v"].sqrt() + self.d * 1e-8, value=-g["lr"] * self.d)
        if below > 0:
            self.d = min(max(self.d, self.numerator / below), 1.5 * self.d)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = Prodigy(model.parameters())
    monitor = watch(model, optimizer)
    for epoch in range(20):
        for i in torch.randperm(1400).split(50):
            loss = F.cross_entropy(model(X[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            out = model(X[1400:])
        accuracy = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_accuracy=accuracy, d=optimizer.d, epoch=epoch)
    monitor.close()
    assert accuracy > 0.85
