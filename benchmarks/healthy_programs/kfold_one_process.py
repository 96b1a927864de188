"""Five-fold cross-validation in one process: a new model, optimizer and monitor for each fold."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from torch import nn


def main(watch):
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        xtr, xte = (torch.tensor(scaler.transform(X[i]), dtype=torch.float32) for i in (train, test))
        ytr, yte = torch.tensor(y[train]), torch.tensor(y[test])
        model = nn.Sequential(nn.Linear(30, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 2))
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        monitor = watch(model, optimizer)
        for _epoch in range(12):
            model.train()
            for idx in torch.randperm(len(xtr)).split(32):
                optimizer.zero_grad()
                F.cross_entropy(model(xtr[idx]), ytr[idx]).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                out = model(xte)
            acc = (out.argmax(1) == yte).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yte).item(), val_acc=acc)
        monitor.close()
        scores.append(acc)
    assert min(scores) > 0.88
