"""Healthy: the last polish of a net that is good already, at a tiny rate, on slightly shifted data; the loss hardly
moves by design."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "transfer"
EXPECTS = ()


def main(watch):
    data = load_digits()
    x, y = torch.tensor(data.data, dtype=torch.float32) / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 48), nn.ReLU(), nn.Linear(48, 10))
    base = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        for idx in torch.randperm(900).split(50):
            base.zero_grad()
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            base.step()
    x = x + 0.12 * torch.randn_like(x)  # another scanner
    with torch.no_grad():
        before = F.cross_entropy(model(x[1400:]), y[1400:]).item()
    loader = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=32, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-5)
    with watch(model, optimizer) as monitor:
        for epoch in range(8):
            for xb, yb in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(xb), yb).backward()
                optimizer.step()
            with torch.no_grad():
                out = model(x[1400:])
                acc = (out.argmax(1) == y[1400:]).float().mean().item()
                loss = F.cross_entropy(out, y[1400:]).item()
            monitor.log(val_loss=loss, val_acc=acc, epoch=epoch)
    assert acc > 0.92 and loss < before, (acc, before, loss)
    return acc
