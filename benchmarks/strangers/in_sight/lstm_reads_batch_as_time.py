"""A recurrent classifier of short signals without batch_first: the net reads along the batch instead of along time."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "time series"
EXPECTS = ("mixed-samples", "loss-at-chance", "stuck-from-start", "nothing-generalises", "stalled-loss", "underfitting")


def signals(n):
    t = torch.arange(40) / 40
    label = torch.randint(0, 4, (n,))
    freq = torch.tensor([2.0, 3.5, 5.0, 7.0])[label] + 0.2 * torch.randn(n)
    wave = torch.sin(2 * math.pi * (freq[:, None] * t + torch.rand(n, 1)))
    return (wave + 0.2 * torch.randn(n, 40))[..., None], label


class GestureNet(nn.Module):
    def __init__(self, batch_first):
        super().__init__()
        self.lstm = nn.LSTM(1, 40, batch_first=batch_first)
        self.fc = nn.Linear(40, 4)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out[:, -1, :])


def main(watch, faulty):
    train, (xv, yv) = TensorDataset(*signals(1200)), signals(300)
    loader = DataLoader(train, batch_size=32, shuffle=True)
    model = GestureNet(batch_first=not faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for x, y in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_accuracy=acc, epoch=epoch)
    monitor.close()
    return acc
