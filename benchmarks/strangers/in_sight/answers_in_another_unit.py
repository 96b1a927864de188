"""Targets are standardised for training; the validation compares with the targets as they were."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_diabetes
from torch import nn

FAMILY = "regression"
EXPECTS = ("gap-from-start", "nothing-generalises", "frozen-validation", "underfitting")


def main(watch, faulty):
    x, y = load_diabetes(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) * 20, torch.tensor(y, dtype=torch.float32)
    order = torch.randperm(len(x))
    train, val = order[:340], order[340:]
    mean, std = y[train].mean(), y[train].std()
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
    with watch(model, opt) as monitor:
        for _ in range(60):
            model.train()
            for i in train[torch.randperm(len(train))].split(16):
                loss = F.mse_loss(model(x[i]).squeeze(1), (y[i] - mean) / std)
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                guess = model(x[val]).squeeze(1)
            truth = y[val] if faulty else (y[val] - mean) / std
            val_loss = F.mse_loss(guess, truth).item()
            monitor.log(val_loss=val_loss)
    return -val_loss
