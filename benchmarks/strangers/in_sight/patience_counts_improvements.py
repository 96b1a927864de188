"""The early-stopping test is written the wrong way round: it counts the epochs that got better and stops the run
after five of them."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import accuracy, digits

FAMILY = "early stopping"
EXPECTS = ("still-falling", "underfitting", "undersized-update")


class EarlyStopping:
    def __init__(self, patience=5, inverted=False):
        self.patience, self.inverted = patience, inverted
        self.best, self.counter, self.early_stop = None, 0, False

    def __call__(self, val_loss):
        if self.best is None:
            self.best = val_loss
        elif (val_loss < self.best) if self.inverted else (val_loss >= self.best - 1e-4):
            self.counter += 1
            self.early_stop = self.counter >= self.patience
            self.best = min(self.best, val_loss)
        else:
            self.best, self.counter = val_loss, 0


def main(watch, faulty):
    x, y, xt, yt = digits()
    mu, sd = x.mean(), x.std()
    x, xt = (x - mu) / sd, (xt - mu) / sd
    loader = DataLoader(TensorDataset(x, y), batch_size=64, shuffle=True)
    model = nn.Sequential(
        nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.8, weight_decay=1e-4)
    criterion = nn.CrossEntropyLoss()
    stopper = EarlyStopping(inverted=faulty)
    with watch(model, optimizer) as monitor:
        for epoch in range(50):
            model.train()
            for xb, yb in loader:
                optimizer.zero_grad()
                criterion(model(xb), yb).backward()
                optimizer.step()
            val_loss, val_acc = accuracy(model, xt, yt)
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc)
            stopper(val_loss)
            if stopper.early_stop:
                break
    return val_acc
