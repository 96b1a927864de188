"""A highway network of twelve layers; the transform gates start nearly shut (bias -2) and open where they are
needed."""

import torch
from sklearn.datasets import make_moons
from torch import nn


class Highway(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.transform, self.gate = nn.Linear(size, size), nn.Linear(size, size)
        nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, x):
        t = torch.sigmoid(self.gate(x))
        return t * torch.relu(self.transform(x)) + (1 - t) * x


class Net(nn.Module):
    def __init__(self, depth=12, size=24):
        super().__init__()
        self.enter = nn.Linear(2, size)
        self.body = nn.Sequential(*[Highway(size) for _ in range(depth)])
        self.leave = nn.Linear(size, 1)

    def forward(self, x):
        return self.leave(self.body(torch.tanh(self.enter(x)))).squeeze(1)


def main(watch):
    x, y = make_moons(1600, noise=0.2, random_state=5)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0)
    train, test = slice(0, 1200), slice(1200, 1600)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.85)
    criterion = nn.BCEWithLogitsLoss()
    monitor = watch(net, optimizer)
    for epoch in range(16):
        for rows in torch.randperm(1200).split(40):
            optimizer.zero_grad()
            loss = criterion(net(x[train][rows]), y[train][rows])
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            out = net(x[test])
        acc = ((out > 0).float() == y[test]).float().mean().item()
        monitor.log({"val/loss": criterion(out, y[test]).item(), "val/acc": acc, "epoch": epoch})
    monitor.close()
    assert acc > 0.93, acc
