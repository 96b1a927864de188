"""A custom initialisation with nn.init.normal_ and no std: weights of spread one, and tanh at its ends from the
start."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ("saturated-units", "wrong-initial-loss", "underfitting", "overfitting", "stalled-loss", "undersized-update")


def initialise(module):
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight)
        nn.init.zeros_(module.bias)


class Net(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(64, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, width),
            nn.Tanh(),
            nn.Linear(width, 10),
        )

    def forward(self, x):
        return self.layers(x)


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.data, dtype=torch.float32) / 8 - 1, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=32, shuffle=True)
    model = Net()
    if faulty:
        model.apply(initialise)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(10):
        model.train()
        total = 0.0
        for xb, yb in loader:
            loss = F.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            out = model(x[1400:])
            acc = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log(
            train_loss=total / len(loader), val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc, epoch=epoch
        )
    monitor.close()
    return acc
