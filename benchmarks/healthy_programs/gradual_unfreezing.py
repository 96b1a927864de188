"""Healthy: fine-tuning that unfreezes one layer after the other, each with a smaller rate; most of the net stands still
for half of the run by design."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "transfer"
EXPECTS = ()


def train(model, x, y, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            optimizer.step()


def main(watch):
    data = load_digits()
    x, y = torch.tensor(data.data, dtype=torch.float32) / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 5))
    low = y < 5
    train(net, x[low], y[low], 10)
    xn, yn = x[~low], y[~low] - 5  # the new task: the other five digits
    net[4] = nn.Linear(48, 5)
    stages = [net[4], net[2], net[0]]
    for layer in stages[1:]:
        layer.requires_grad_(False)
    optimizer = torch.optim.AdamW(
        [{"params": layer.parameters(), "lr": 3e-3 * 0.5**depth} for depth, layer in enumerate(stages)]
    )
    loader = DataLoader(TensorDataset(xn[:650], yn[:650]), batch_size=32, shuffle=True)
    with watch(net, optimizer) as monitor:
        for epoch in range(24):
            if epoch in (6, 12):
                stages[epoch // 6].requires_grad_(True)
            for xb, yb in loader:
                optimizer.zero_grad()
                F.cross_entropy(net(xb), yb).backward()
                optimizer.step()
            with torch.no_grad():
                out = net(xn[650:])
                acc = (out.argmax(1) == yn[650:]).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yn[650:]).item(), val_acc=acc, epoch=epoch)
    assert acc > 0.91, acc
    return acc
