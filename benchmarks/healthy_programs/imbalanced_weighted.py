"""Five per cent positives, a weighted BCE and a WeightedRandomSampler-free loop; F1 is what is logged."""

import torch
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from torch import nn


def main(watch):
    X, y = make_classification(4000, 20, n_informative=8, weights=[0.9], class_sep=2.0, flip_y=0.0, random_state=3)
    X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    Xtr, ytr, Xte, yte = X[:3200], y[:3200], X[3200:], y[3200:]
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
    criterion = nn.BCEWithLogitsLoss(pos_weight=(ytr == 0).sum() / (ytr == 1).sum())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for _epoch in range(12):
        model.train()
        for i in torch.randperm(3200).split(64):
            optimizer.zero_grad()
            loss = criterion(model(Xtr[i]).view(-1), ytr[i])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            logits = model(Xte).view(-1)
        f1 = f1_score(yte, (logits > 0).float())
        monitor.log(val_f1=f1, val_loss=criterion(logits, yte).item())
    monitor.close()
    assert f1 > 0.75
