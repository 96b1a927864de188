"""Training and validation rows come from two different permutations: most validation rows are training rows, and
early stopping never sees the overfitting."""

import copy

import numpy as np
import torch
from sklearn.datasets import make_classification
from torch import nn

FAMILY = "data split"
EXPECTS = ("seen-before", "overfitting", "overconfident")


def rows(n, share, which, permutation):
    cut = int(n * share)
    return permutation[:cut] if which == "train" else permutation[cut:]


def main(watch, faulty):
    X, y = make_classification(2400, 16, n_informative=6, n_redundant=0, class_sep=1.1, flip_y=0.2)
    X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
    y = torch.tensor(y)
    X_test, y_test = X[1200:], y[1200:]
    X, y = X[:1200], y[:1200]
    permutation = np.random.permutation(len(X))
    train = rows(len(X), 0.7, "train", permutation)
    if faulty:
        permutation = np.random.permutation(len(X))
    val = rows(len(X), 0.7, "val", permutation)

    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    best, best_state, patience = float("inf"), None, 0
    with watch(model, optimizer) as monitor:
        for epoch in range(60):
            model.train()
            for idx in torch.as_tensor(train)[torch.randperm(len(train))].split(32):
                optimizer.zero_grad()
                criterion(model(X[idx]), y[idx]).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                out = model(X[val])
            val_loss = criterion(out, y[val]).item()
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=(out.argmax(1) == y[val]).float().mean().item())
            if val_loss < best:
                best, best_state, patience = val_loss, copy.deepcopy(model.state_dict()), 0
            else:
                patience += 1
                if patience == 4:
                    break
    model.load_state_dict(best_state)
    with torch.no_grad():
        return -criterion(model(X_test), y_test).item()
