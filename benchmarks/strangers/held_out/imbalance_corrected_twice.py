"""Rare positives are oversampled to one half by a WeightedRandomSampler, and pos_weight corrects for the same
imbalance a second time: nearly everything is called positive."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

FAMILY = "class imbalance"
EXPECTS = ("category-gap", "gap-from-start", "worse-than-guess", "stalled-loss")


def load():
    X, y = make_classification(
        7000, 12, n_informative=5, n_redundant=1, weights=[0.92], class_sep=0.9, flip_y=0.02, random_state=17
    )
    X = ((X - X.mean(0)) / X.std(0)).astype(np.float32)
    X, y = torch.from_numpy(X), torch.from_numpy(y).float()
    return X[:5600], y[:5600], X[5600:], y[5600:]


def main(watch, faulty):
    X, y, Xv, yv = load()
    share = y.mean().item()
    weights = torch.where(y == 1, 1 / share, 1 / (1 - share))
    sampler = WeightedRandomSampler(weights.tolist(), len(y), replacement=True)
    loader = DataLoader(TensorDataset(X, y), batch_size=64, sampler=sampler)

    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 16), nn.ReLU(), nn.Linear(16, 1))
    pos_weight = torch.tensor((1 - share) / share) if faulty else None
    criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
    val_criterion = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            model.train()
            for xb, yb in loader:
                optimizer.zero_grad()
                loss = criterion(model(xb).squeeze(1), yb)
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            with torch.no_grad():
                z = model(Xv).squeeze(1)
            said = (z > 0).float()
            f1 = f1_score(yv.numpy(), said.numpy())
            monitor.log(
                epoch=epoch, val_loss=val_criterion(z, yv).item(), val_acc=(said == yv).float().mean().item(), val_f1=f1
            )
    return f1
