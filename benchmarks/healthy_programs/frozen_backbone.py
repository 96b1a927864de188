"""Transfer learning: the backbone is frozen and kept in eval mode (BatchNorm too), only the new head is trained."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def train_epoch(model, opt, X, y):
    for idx in torch.randperm(len(X)).split(64):
        opt.zero_grad()
        loss = F.cross_entropy(model(X[idx]), y[idx])
        loss.backward()
        opt.step()


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    backbone = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    )  # fmt: skip
    pretraining = nn.Sequential(backbone, nn.Linear(128, 5))
    few = y[:1400] < 5
    opt = torch.optim.Adam(pretraining.parameters(), lr=2e-3)
    for _ in range(5):
        train_epoch(pretraining, opt, X[:1400][few], y[:1400][few])
    for param in backbone.parameters():
        param.requires_grad = False
    model = nn.Sequential(backbone, nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model[1].parameters(), lr=0.05, momentum=0.9)
    monitor = watch(model, optimizer)
    for _ in range(12):
        model.train()
        backbone.eval()
        train_epoch(model, optimizer, X[:1400], y[:1400])
        model.eval()
        with torch.no_grad():
            out = model(X[1400:])
        acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc)
    monitor.close()
    assert acc > 0.85
