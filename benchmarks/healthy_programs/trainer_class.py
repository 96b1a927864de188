"""A Trainer class with callbacks and history, an MLP on diabetes regression; rates per parameter group."""

import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Trainer:
    def __init__(self, model, optimizer, loss_fn, monitor):
        self.model, self.optimizer, self.loss_fn, self.monitor = model, optimizer, loss_fn, monitor
        self.history = {"train_loss": [], "val_loss": []}

    def _run(self, loader, train):
        self.model.train(train)
        total, n = 0.0, 0
        for xb, yb in loader:
            with torch.set_grad_enabled(train):
                loss = self.loss_fn(self.model(xb), yb)
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            total, n = total + loss.item() * len(xb), n + len(xb)
        return total / n

    def fit(self, train_loader, val_loader, epochs):
        for _epoch in range(epochs):
            self.history["train_loss"].append(self._run(train_loader, True))
            self.history["val_loss"].append(self._run(val_loader, False))
            self.monitor.log({k: v[-1] for k, v in self.history.items()})
        return self.history


def main(watch):
    X, y = load_diabetes(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) * 20, torch.tensor(y, dtype=torch.float32)[:, None]
    y = (y - y.mean()) / y.std()
    p = torch.randperm(len(X))
    train = DataLoader(TensorDataset(X[p[:350]], y[p[:350]]), 16, shuffle=True)
    val = DataLoader(TensorDataset(X[p[350:]], y[p[350:]]), 92)
    model = nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 1))
    groups = [{"params": model[0].parameters(), "lr": 5e-4}, {"params": model[3].parameters(), "lr": 2e-3}]
    optimizer = torch.optim.Adam(groups, weight_decay=1e-3)
    monitor = watch(model, optimizer)
    history = Trainer(model, optimizer, nn.MSELoss(), monitor).fit(train, val, 25)
    monitor.close()
    assert min(history["val_loss"]) < 0.75
