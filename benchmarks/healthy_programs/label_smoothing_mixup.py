"""Label smoothing of 0.1 together with mixup: the loss cannot fall to zero, accuracy is what counts."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def mixup_data(x, y, alpha=1.0):
    lam = np.random.beta(alpha, alpha)
    index = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[index], y, y[index], lam


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    net = nn.Sequential(nn.Linear(64, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, 10))
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [10, 16], gamma=0.1)
    monitor = watch(net, optimizer)
    best_acc = 0
    for _epoch in range(20):
        net.train()
        for idx in torch.randperm(1400).split(128):
            inputs, a, b, lam = mixup_data(X[idx], y[idx])
            outputs = net(inputs)
            loss = lam * criterion(outputs, a) + (1 - lam) * criterion(outputs, b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        net.eval()
        with torch.no_grad():
            out = net(X[1400:])
        acc = 100 * (out.argmax(1) == y[1400:]).float().mean().item()
        best_acc = max(best_acc, acc)
        monitor.log({"Test/Loss": F.cross_entropy(out, y[1400:]).item(), "Test/Acc": acc})
    monitor.close()
    assert best_acc > 88
