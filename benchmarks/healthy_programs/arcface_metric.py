"""ArcFace: cosine logits with an angular margin and a scale of 30; the loss starts far above ln(classes) by design."""

import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class ArcFace(nn.Module):
    def __init__(self, dim, classes, s=30.0, m=0.5):
        super().__init__()
        self.weight, self.s, self.m = nn.Parameter(torch.empty(classes, dim)), s, m
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, labels):
        cosine = F.linear(F.normalize(x), F.normalize(self.weight))
        sine = (1 - cosine**2).clamp(1e-6, 1).sqrt()
        phi = cosine * math.cos(self.m) - sine * math.sin(self.m)
        phi = torch.where(cosine > math.cos(math.pi - self.m), phi, cosine - math.sin(math.pi - self.m) * self.m)
        one_hot = F.one_hot(labels, len(self.weight)).float()
        return self.s * (one_hot * phi + (1 - one_hot) * cosine)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, 128), nn.BatchNorm1d(128), nn.PReLU(), nn.Linear(128, 32), nn.BatchNorm1d(32)
        )
        self.margin = ArcFace(32, 10)

    def forward(self, x, labels):
        return self.margin(self.body(x), labels)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [12, 17], 0.1)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        model.train()
        for i in torch.randperm(1400).split(64):
            loss = F.cross_entropy(model(X[i], y[i]), y[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            known, new = F.normalize(model.body(X[:1400])), F.normalize(model.body(X[1400:]))
            top1 = (y[:1400][(new @ known.T).argmax(1)] == y[1400:]).float().mean().item()
        monitor.log({"val/recall@1": top1, "epoch": epoch})
    monitor.close()
    assert top1 > 0.9
