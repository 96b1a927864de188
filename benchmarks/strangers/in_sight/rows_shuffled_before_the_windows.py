"""A forecast from the last 24 hours, where train_test_split shuffled the hours before windows were cut from them."""

import torch
from torch import nn

FAMILY = "time series"
EXPECTS = ("nothing-generalises", "loss-at-chance", "stuck-from-start", "underfitting", "overfitting")


def main(watch, faulty):
    t = torch.arange(3000.0)
    series = torch.sin(t * 6.2832 / 24) + 0.5 * torch.sin(t * 6.2832 / 168) + 0.15 * torch.randn(3000)
    if faulty:
        series = series[torch.randperm(3000)]
    windows = series.unfold(0, 25, 1)
    x, y = windows[:, :24], windows[:, 24]
    train, test = torch.arange(2300), torch.arange(2400, len(x))

    class Forecaster(nn.Module):
        def __init__(self):
            super().__init__()
            self.gru, self.head = nn.GRU(1, 24, batch_first=True), nn.Linear(24, 1)

        def forward(self, x):
            return self.head(self.gru(x.unsqueeze(-1))[0][:, -1]).squeeze(-1)

    net = Forecaster()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    with watch(net, opt) as monitor:
        for _ in range(8):
            for i in train[torch.randperm(2300)].split(64):
                loss = nn.functional.mse_loss(net(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = nn.functional.mse_loss(net(x[test]), y[test]).item()
            monitor.log(val_loss=val)
    return -val
