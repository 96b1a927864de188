"""Two heads on one trunk, classification and regression, with learned loss weights (Kendall et al.)."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU())
        self.digit, self.ink = nn.Linear(48, 10), nn.Linear(48, 1)
        self.log_vars = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.trunk(x)
        return self.digit(h), self.ink(h).squeeze(-1)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    ink = X.sum(1)
    ink = (ink - ink.mean()) / ink.std()
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(15):
        for idx in torch.randperm(1400).split(64):
            logits, amount = model(X[idx])
            losses = torch.stack([F.cross_entropy(logits, y[idx]), F.mse_loss(amount, ink[idx])])
            total = (torch.exp(-model.log_vars) * losses + model.log_vars).sum()
            optimizer.zero_grad()
            total.backward()
            optimizer.step()
        with torch.no_grad():
            logits, amount = model(X[1400:])
        acc, r2 = (logits.argmax(1) == y[1400:]).float().mean().item(), 1 - F.mse_loss(amount, ink[1400:]).item()
        monitor.log({"val_digit_acc": acc, "val_ink_r2": r2, "epoch": epoch})
    monitor.close()
    assert acc > 0.85
    assert r2 > 0.8
