"""Fraud-like imbalance: the class weights are the counts themselves instead of their inverse."""

import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("lopsided-labels", "category-gap", "loss-without-accuracy", "frozen-validation")


def balanced_accuracy(predicted, y):
    return sum((predicted[y == c] == c).float().mean().item() for c in (0, 1, 2)) / 3


def main(watch, faulty):
    x, y = make_classification(
        4000, 16, n_informative=10, n_classes=3, weights=[0.86, 0.09, 0.05], class_sep=1.0, flip_y=0.0, random_state=2
    )
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    x = (x - x.mean(0)) / x.std(0)
    loader = DataLoader(TensorDataset(x[:3200], y[:3200]), batch_size=64, shuffle=True)
    counts = torch.bincount(y[:3200]).float()
    weights = counts / counts.sum() if faulty else counts.sum() / (3 * counts)
    criterion = nn.CrossEntropyLoss(weight=weights)
    model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            criterion(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(x[3200:])
        score = balanced_accuracy(out.argmax(1), y[3200:])
        monitor.log(val_loss=criterion(out, y[3200:]).item(), val_balanced_accuracy=score, epoch=epoch)
    monitor.close()
    return score
