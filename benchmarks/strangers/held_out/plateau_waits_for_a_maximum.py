"""ReduceLROnPlateau made for accuracy, mode="max", and fed the validation loss: the better it gets, the lower the
rate."""

import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman2
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("vanished-learning-rate", "undersized-update", "stalled-loss", "schedule-ended-early", "underfitting")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x).squeeze(1)


def main(watch, faulty):
    x, y = make_friedman2(2400, noise=10.0, random_state=0)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    loader = DataLoader(TensorDataset(x[:2000], y[:2000]), batch_size=50, shuffle=True)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="max" if faulty else "min", factor=0.1, patience=1
    )
    monitor = watch(model, optimizer)
    for epoch in range(25):
        for xb, yb in loader:
            optimizer.zero_grad()
            F.mse_loss(model(xb), yb).backward()
            optimizer.step()
        with torch.no_grad():
            val = F.mse_loss(model(x[2000:]), y[2000:]).item()
        plateau.step(val)
        monitor.log(val_loss=val, lr=optimizer.param_groups[0]["lr"], epoch=epoch)
    monitor.close()
    return -val
