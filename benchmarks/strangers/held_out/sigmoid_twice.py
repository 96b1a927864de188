"""A sigmoid at the end of the model and BCEWithLogitsLoss after it."""

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn

FAMILY = "tabular"
EXPECTS = ("mismatched-loss", "stalled-loss")


def main(watch, faulty):
    x, y = load_breast_cancer(return_X_y=True)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    order = torch.randperm(len(x))
    x, y = ((x - x.mean(0)) / x.std(0))[order], y[order]
    model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Linear(32, 1), *([nn.Sigmoid()] if faulty else []))
    criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(25):
            for i in torch.randperm(450).split(32):
                loss = criterion(model(x[i]).squeeze(1), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                val = criterion(model(x[450:]).squeeze(1), y[450:]).item()
            monitor.log(val_loss=val)
    return -val
