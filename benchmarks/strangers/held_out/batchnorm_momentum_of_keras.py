"""A net ported from Keras: momentum=0.99 keeps 99 % of the old statistics there and 1 % of them here."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ("erratic-validation", "gap-from-start", "stale-statistics")


def block(i, o, momentum):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o, momentum=momentum), nn.ReLU(), nn.MaxPool2d(2)
    )


class Ported(nn.Module):
    def __init__(self, momentum):
        super().__init__()
        self.features = nn.Sequential(block(1, 12, momentum), block(12, 24, momentum))
        self.dense = nn.Sequential(
            nn.Flatten(), nn.Linear(96, 48), nn.BatchNorm1d(48, momentum=momentum), nn.ReLU(), nn.Linear(48, 10)
        )

    def forward(self, x):
        return self.dense(self.features(x))


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=4, shuffle=True, drop_last=True)
    model = Ported(0.99 if faulty else 0.01)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(4):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(x[1400:])
            acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
