"""A normalising flow whose likelihood has the log-determinant with the wrong sign: the loss can be made as small as you
like by squeezing everything to a point."""

import torch
from sklearn.datasets import make_moons
from torch import nn

FAMILY = "generative"
EXPECTS = ("unbounded-negative-loss", "runaway-weights", "growing-activations")


class Coupling(nn.Module):
    def __init__(self, first):
        super().__init__()
        self.first = first
        self.net = nn.Sequential(nn.Linear(1, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))

    def forward(self, x):
        keep, change = (x[:, :1], x[:, 1:]) if self.first else (x[:, 1:], x[:, :1])
        s, t = self.net(keep).chunk(2, 1)
        s = torch.tanh(s)
        change = change * s.exp() + t
        return torch.cat([keep, change] if self.first else [change, keep], 1), s.sum(1)


class Flow(nn.Module):
    def __init__(self, depth=8):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(i % 2 == 0) for i in range(depth))

    def forward(self, x):
        total = torch.zeros(len(x))
        for layer in self.layers:
            x, logdet = layer(x)
            total = total + logdet
        return x, total


def main(watch, faulty):
    data = torch.tensor(make_moons(3000, noise=0.06, random_state=0)[0], dtype=torch.float32)
    data = (data - data.mean(0)) / data.std(0)
    train, val = data[:2500], data[2500:]
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)

    def nll(x, sign):
        z, logdet = model(x)
        prior = -0.5 * (z**2).sum(1) - torch.log(torch.tensor(2 * torch.pi))
        return -(prior + sign * logdet).mean()

    monitor = watch(model, optimizer)
    for epoch in range(20):
        for idx in torch.randperm(len(train)).split(100):
            loss = nll(train[idx], -1 if faulty else 1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            monitor.log(val_loss=nll(val, -1 if faulty else 1).item(), epoch=epoch)
    monitor.close()
    with torch.no_grad():
        return -nll(val, 1).item()
