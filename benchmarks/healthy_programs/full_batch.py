"""Full-batch gradient descent on all 1,500 digits: the same batch at every step, on purpose."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    Xtr, ytr, Xte, yte = X[:1500], y[:1500], X[1500:], y[1500:]
    net = nn.Sequential(nn.Linear(64, 100), nn.ReLU(), nn.Linear(100, 10))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.5, momentum=0.9)
    monitor = watch(net, optimizer)
    for t in range(200):
        loss = F.cross_entropy(net(Xtr), ytr)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if t % 20 == 19:
            with torch.no_grad():
                out = net(Xte)
            acc = (out.argmax(1) == yte).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yte).item(), val_accuracy=acc)
    monitor.close()
    assert acc > 0.87
