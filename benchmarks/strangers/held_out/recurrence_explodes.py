"""A plain RNN with recurrent weights of spectral radius above one, ReLU, and no clipping."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = (
    "exploding-gradient",
    "nonfinite-loss",
    "growing-activations",
    "diverging-loss",
    "loss-spike",
    "wrong-initial-loss",
)


class Adder(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.rnn, self.out = nn.RNN(2, 32, nonlinearity="relu", batch_first=True), nn.Linear(32, 1)
        nn.init.orthogonal_(self.rnn.weight_hh_l0, 2.0 if faulty else 0.95)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


def make(n):
    value, mark = torch.rand(n, 20), torch.zeros(n, 20)
    mark.scatter_(1, torch.stack([torch.randperm(20)[:2] for _ in range(n)]), 1.0)
    return torch.stack([value, mark], -1), (value * mark).sum(1)


def main(watch, faulty):
    model = Adder(faulty)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    monitor = watch(model, optimizer)
    xv, yv = make(300)
    for step in range(600):
        x, y = make(64)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 59:
            with torch.no_grad():
                val = F.mse_loss(model(xv), yv).item()
            monitor.log(val_loss=val)
    monitor.close()
    return -val
