"""Healthy: a triangular cyclical learning rate with large momentum swings; the loss goes up and down with it by
design."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ()


def main(watch):
    data = load_digits()
    x, y = torch.tensor(data.data, dtype=torch.float32) / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=50, shuffle=True, drop_last=True)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CyclicLR(
        optimizer, base_lr=0.005, max_lr=0.25, step_size_up=2 * len(loader), mode="triangular2", cycle_momentum=True
    )
    with watch(model, optimizer) as monitor:
        for epoch in range(16):
            model.train()
            for images, labels in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(images), labels).backward()
                optimizer.step()
                scheduler.step()
            model.eval()
            with torch.no_grad():
                out = model(x[1400:])
                acc = (out.argmax(1) == y[1400:]).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, y[1400:]).item(), val_acc=acc, epoch=epoch)
    assert acc > 0.94, acc
    return acc
