"""Online learning with a batch of one and plain SGD: perceptron-style logging of a running mean."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_iris
from torch import nn


def main(watch):
    data = load_iris()
    X = torch.tensor(data.data, dtype=torch.float32)
    X = (X - X.mean(0)) / X.std(0)
    y = torch.tensor(data.target)
    p = torch.randperm(150)
    train, test = p[:110], p[110:]
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
    opt = torch.optim.SGD(net.parameters(), lr=0.02)
    monitor = watch(net, opt)
    for epoch in range(15):
        running = 0.0
        for i in train[torch.randperm(len(train))]:
            opt.zero_grad()
            loss = F.cross_entropy(net(X[i : i + 1]), y[i : i + 1])
            loss.backward()
            opt.step()
            running += loss.item()
        with torch.no_grad():
            acc = (net(X[test]).argmax(1) == y[test]).float().mean().item()
        monitor.log(epoch=epoch, epoch_loss=running / len(train), test_acc=acc)
    monitor.close()
    assert acc > 0.85
