"""Stochastic weight averaging with torch.optim.swa_utils: SWALR from epoch 12 on, update_bn at the end."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    loader = DataLoader(TensorDataset(X[:1400], y[:1400]), batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20)
    swa_model, swa_start = AveragedModel(model), 12
    swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=3)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        if epoch > swa_start:
            swa_model.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
        model.eval()
        with torch.no_grad():
            out = model(X[1400:])
            monitor.log(
                val_loss=F.cross_entropy(out, y[1400:]).item(), accuracy=(out.argmax(1) == y[1400:]).float().mean()
            )
    update_bn(loader, swa_model)
    monitor.close()
    swa_model.eval()
    with torch.no_grad():
        assert (swa_model(X[1400:]).argmax(1) == y[1400:]).float().mean() > 0.9
