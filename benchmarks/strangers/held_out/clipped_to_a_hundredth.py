"""A safety clip copied from another project, where losses were sums: max_norm=0.01 cuts every step of this one."""

import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("gradient-always-clipped", "undersized-update", "still-falling", "underfitting")


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def main(watch, faulty):
    x, y = make_friedman1(2400, noise=0.5, random_state=1)
    x, y = torch.tensor(x, dtype=torch.float32) * 2 - 1, torch.tensor(y, dtype=torch.float32)
    y = (y - y.mean()) / y.std()
    train = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=64, shuffle=True)
    model = Regressor()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    monitor = watch(model, optimizer)
    for epoch in range(18):
        model.train()
        for xb, yb in train:
            optimizer.zero_grad()
            loss = F.mse_loss(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.01 if faulty else 10.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(x[2000:]), y[2000:]).item()
        monitor.log(val_loss=val, val_r2=1 - val / y[2000:].var().item(), epoch=epoch)
    monitor.close()
    return 1 - val / y[2000:].var().item()
