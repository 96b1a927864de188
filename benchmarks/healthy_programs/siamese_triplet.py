"""A triplet network on digits with margin 1; the loss reaches zero for many batches because the triplets are easy."""

import random

import torch
from sklearn.datasets import load_digits
from torch import nn


def main(watch):
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32) / 16
    by_class = {c: [i for i in range(1400) if y[i] == c] for c in range(10)}
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 16))
    criterion = nn.TripletMarginLoss(margin=1.0)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    monitor = watch(net, optimizer)

    def batch(n):
        a, p, ng = [], [], []
        for _ in range(n):
            c, d = random.sample(range(10), 2)
            i, j = random.sample(by_class[c], 2)
            a.append(i), p.append(j), ng.append(random.choice(by_class[d]))
        return X[a], X[p], X[ng]

    for it in range(600):
        anchor, pos, neg = batch(64)
        loss = criterion(net(anchor), net(pos), net(neg))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 50 == 49:
            with torch.no_grad():
                emb = net(X)
                nearest = torch.cdist(emb[1400:], emb[:1400]).argmin(1)
                recall = (torch.tensor(y)[:1400][nearest] == torch.tensor(y)[1400:]).float().mean().item()
            monitor.log({"val/recall@1": recall})
    monitor.close()
    assert recall > 0.85
