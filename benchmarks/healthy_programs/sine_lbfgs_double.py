"""The time sequence prediction example: two LSTM cells in double precision, LBFGS at 0.8, one batch of everything."""

import math

import torch
from torch import nn


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1, self.lstm2, self.linear = nn.LSTMCell(1, 20), nn.LSTMCell(20, 20), nn.Linear(20, 1)

    def forward(self, x):
        outputs, h1, h2 = [], None, None
        for x_t in x.split(1, dim=1):
            h1 = self.lstm1(x_t, h1)
            h2 = self.lstm2(h1[0], h2)
            outputs.append(self.linear(h2[0]))
        return torch.cat(outputs, dim=1)


def main(watch):
    start = torch.randint(-80, 80, (24, 1))
    waves = ((torch.arange(60) + start) * 2 * math.pi / 40).sin().double()
    seq = Sequence().double()
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(seq.parameters(), lr=0.8, max_iter=10)
    monitor = watch(seq, optimizer)
    for _ in range(10):

        def closure():
            optimizer.zero_grad()
            loss = criterion(seq(waves[3:, :-1]), waves[3:, 1:])
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            test = criterion(seq(waves[:3, :-1]), waves[:3, 1:]).item()
        monitor.log(test_loss=test)
    monitor.close()
    assert test < 0.05
