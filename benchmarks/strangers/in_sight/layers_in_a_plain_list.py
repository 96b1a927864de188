"""The hidden layers are kept in a Python list, so that parameters() does not find them and nobody trains them."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "tabular"
EXPECTS = ("uncovered-parameter", "frozen-untrained", "underfitting", "stalled-loss")


class Deep(nn.Module):
    def __init__(self, plain, width=16, depth=4):
        super().__init__()
        self.first = nn.Linear(8, width)
        hidden = [nn.Linear(width, width) for _ in range(depth)]
        self.hidden = hidden if plain else nn.ModuleList(hidden)
        self.last = nn.Linear(width, 1)

    def forward(self, x):
        x = F.relu(self.first(x))
        for layer in self.hidden:
            x = F.relu(layer(x))
        return self.last(x).squeeze(1)


def robot_arm(n):
    """Distance of a hand from its base, from joint angles and lengths: eight columns as in the kin8nm table."""
    angle, length = torch.rand(n, 4) * 3 - 1.5, torch.rand(n, 4)
    total = angle.cumsum(1)
    hand = torch.stack([(length * total.cos()).sum(1), (length * total.sin()).sum(1)], 1)
    y = hand.norm(dim=1)
    return torch.cat([angle, 2 * length - 1], 1), (y - y.mean()) / y.std()


def main(watch, faulty):
    x, y = robot_arm(3000)
    loader = DataLoader(TensorDataset(x[:2500], y[:2500]), batch_size=50, shuffle=True)
    model = Deep(plain=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    monitor = watch(model, optimizer)
    for epoch in range(20):
        for xb, yb in loader:
            optimizer.zero_grad()
            F.mse_loss(model(xb), yb).backward()
            optimizer.step()
        with torch.no_grad():
            val = F.mse_loss(model(x[2500:]), y[2500:]).item()
        monitor.log(val_loss=val, val_r2=1 - val, epoch=epoch)
    monitor.close()
    return 1 - val
