"""Early stopping with patience: the plateau is waited out, training ends before its time, and the best weights are
put back."""

import copy

import torch
from sklearn.datasets import load_diabetes
from torch import nn


class EarlyStopping:
    def __init__(self, patience):
        self.best, self.patience, self.bad, self.weights = float("inf"), patience, 0, None

    def __call__(self, value, model):
        if value < self.best - 1e-4:
            self.best, self.bad, self.weights = value, 0, copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


def main(watch):
    x, y = load_diabetes(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32) * 21, torch.tensor(y, dtype=torch.float32)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    y = (y - y[:300].mean()) / y[:300].std()
    model = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-2)
    stopper = EarlyStopping(patience=15)
    monitor = watch(model, optimizer)
    for epoch in range(200):
        model.train()
        for rows in torch.randperm(300).split(30):
            optimizer.zero_grad()
            nn.functional.mse_loss(model(x[rows]).squeeze(1), y[rows]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x[300:370]).squeeze(1), y[300:370]).item()
        monitor.log(epoch=epoch, val_loss=val)
        if stopper(val, model):
            break
    model.load_state_dict(stopper.weights)
    monitor.close()
    with torch.no_grad():
        r2 = 1 - (model(x[370:]).squeeze(1) - y[370:]).pow(2).mean() / y[370:].var()
    assert r2 > 0.25, r2
