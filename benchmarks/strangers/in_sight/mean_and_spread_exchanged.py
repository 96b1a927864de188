"""normalize(x, mean, std) is called with the two exchanged: sensors become (x - std) / mean, all close to one."""

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch import nn

FAMILY = "normalisation"
EXPECTS = ("unnormalised-input", "stalled-loss", "underfitting", "stuck-from-start", "still-falling")


def load_sensors():
    X, y = make_classification(4000, 16, n_informative=10, n_redundant=3, n_classes=4, class_sep=1.5, random_state=11)
    rng = np.random.default_rng(4)
    X = (X - X.mean(0)) / X.std(0)
    X = X * rng.uniform(1.5, 5.0, 16) + rng.uniform(40, 120, 16)  # degrees, bars, revolutions ...
    return train_test_split(X.astype(np.float32), y, test_size=0.25, stratify=y)


def normalize(x, mean, std):
    return (x - mean) / std


def main(watch, faulty):
    X_train, X_test, y_train, y_test = load_sensors()
    mean, std = X_train.mean(0), X_train.std(0)
    stats = (std, mean) if faulty else (mean, std)
    X_train, X_test = normalize(X_train, *stats), normalize(X_test, *stats)
    X_train, X_test, y_train, y_test = map(torch.from_numpy, (X_train, X_test, y_train, y_test))

    net = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    lr_decay = torch.optim.lr_scheduler.MultiStepLR(optimizer, [15, 21], gamma=0.2)
    loss_fn = nn.CrossEntropyLoss()
    with watch(net, optimizer) as monitor:
        for epoch in range(25):
            net.train()
            perm = torch.randperm(len(X_train))
            for b in range(0, len(perm), 100):
                idx = perm[b : b + 100]
                optimizer.zero_grad()
                loss_fn(net(X_train[idx]), y_train[idx]).backward()
                optimizer.step()
            lr_decay.step()
            net.eval()
            with torch.no_grad():
                pred = net(X_test)
                acc = (pred.argmax(1) == y_test).float().mean().item()
                monitor.log(epoch=epoch, val_loss=loss_fn(pred, y_test).item(), val_acc=acc)
    return acc
