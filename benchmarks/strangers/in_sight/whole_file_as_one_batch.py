"""The batch size is the length of the file: every epoch is one step, and 'twelve times twelve epochs' are far too
few steps."""

import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "batch size"
EXPECTS = ("still-falling", "undersized-update", "underfitting", "stalled-loss", "stuck-from-start")


def get_loaders(batch_size):
    X, y = make_classification(
        2560, 20, n_informative=10, n_classes=6, n_clusters_per_class=1, class_sep=1.5, random_state=21
    )
    X = torch.tensor(X, dtype=torch.float32)
    X, y = (X - X.mean(0)) / X.std(0), torch.tensor(y)
    train, val = TensorDataset(X[:2048], y[:2048]), TensorDataset(X[2048:], y[2048:])
    return DataLoader(train, batch_size or len(train), shuffle=True), DataLoader(val, len(val))


def run_epoch(model, loader, criterion, optimizer=None):
    model.train(optimizer is not None)
    loss_sum = hits = count = 0
    with torch.set_grad_enabled(optimizer is not None):
        for X, y in loader:
            out = model(X)
            loss = criterion(out, y)
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss_sum += loss.item() * len(y)
            hits += (out.argmax(1) == y).sum().item()
            count += len(y)
    return loss_sum / count, hits / count


def main(watch, faulty):
    train_loader, val_loader = get_loaders(None if faulty else 256)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(144):
            train_loss, _ = run_epoch(model, train_loader, criterion, optimizer)
            val_loss, val_acc = run_epoch(model, val_loader, criterion)
            if epoch % 4 == 3:
                monitor.log(epoch=epoch, train_loss=train_loss, val_loss=val_loss, val_acc=val_acc)
    return -val_loss
