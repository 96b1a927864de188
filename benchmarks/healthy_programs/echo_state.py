"""Healthy: an echo state network; the recurrent part keeps its random weights by design, only the readout learns."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "time series"
EXPECTS = ()


class EchoState(nn.Module):
    def __init__(self, units=200):
        super().__init__()
        self.rnn = nn.RNN(1, units, batch_first=True)
        with torch.no_grad():
            w = self.rnn.weight_hh_l0
            w.normal_()
            w.mul_(0.9 / torch.linalg.eigvals(w).abs().max())
            self.rnn.weight_ih_l0.uniform_(-0.5, 0.5)
        for p in self.rnn.parameters():
            p.requires_grad_(False)
        self.readout = nn.Linear(units, 1)

    def forward(self, x):
        return self.readout(self.rnn(x)[0])


def mackey_glass(n):
    x = [1.2] * 18
    for _ in range(n + 200):
        x.append(x[-1] + 0.2 * x[-18] / (1 + x[-18] ** 10) - 0.1 * x[-1])
    out = torch.tensor(x[-n:])
    return (out - out.mean()) / out.std()


def main(watch):
    series = mackey_glass(6000)
    windows = series.unfold(0, 60, 7)
    windows = windows[torch.randperm(len(windows))]
    train, val = windows[:700], windows[700:]
    model = EchoState()
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=5e-3)
    ahead = 5

    def loss_on(w):
        return F.mse_loss(model(w[:, :-ahead, None])[:, 15:, 0], w[:, 15 + ahead :])

    with watch(model, optimizer) as monitor:
        for epoch in range(20):
            for idx in torch.randperm(len(train)).split(32):
                loss = loss_on(train[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                val_loss = loss_on(val).item()
            monitor.log(val_loss=val_loss, epoch=epoch)
    assert val_loss < 0.06, val_loss
    return -val_loss
