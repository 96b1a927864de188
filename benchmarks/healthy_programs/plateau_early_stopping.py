"""ReduceLROnPlateau, early stopping with the best weights restored at the end, a small noisy regression."""

import copy

import torch
from sklearn.datasets import load_diabetes
from torch import nn


def main(watch):
    X, y = load_diabetes(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    X, y = X / X.std(0), (y - y.mean()) / y.std()
    order = torch.randperm(len(X))
    X, y = X[order], y[order]
    model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
    criterion = nn.MSELoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=4)
    monitor = watch(model, optimizer)
    best, best_weights, waited = float("inf"), None, 0
    for epoch in range(100):
        model.train()
        for i in torch.randperm(340).split(32):
            optimizer.zero_grad()
            loss = criterion(model(X[i]).squeeze(1), y[i])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = criterion(model(X[340:]).squeeze(1), y[340:]).item()
        scheduler.step(val)
        monitor.log(val_loss=val, epoch=epoch)
        if val < best:
            best, best_weights, waited = val, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
            if waited >= 12:
                break
    model.load_state_dict(best_weights)
    monitor.close()
    assert best < 0.75
