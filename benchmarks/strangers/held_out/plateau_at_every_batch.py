"""ReduceLROnPlateau is fed the loss of every batch: a few noisy batches are a plateau, and the rate is soon nothing."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import series

FAMILY = "time series"
EXPECTS = ("scheduler-per-batch", "vanished-learning-rate", "undersized-update", "schedule-ended-early", "stalled-loss")


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.LSTM(1, 32, batch_first=True), nn.Linear(32, 1)

    def forward(self, x):
        return self.head(self.rnn(x.unsqueeze(-1))[0][:, -1]).squeeze(-1)


def main(watch, faulty):
    s = series()
    x, y = s.unfold(0, 36, 1)[:-6], s[41:]
    x, y = x[: len(y)], y[: len(x)]
    xt, yt, x, y = x[2400:], y[2400:], x[:2400], y[:2400]
    model = Forecaster()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=3, factor=0.3)
    with watch(model, opt) as monitor:
        for _ in range(10):
            for i in torch.randperm(len(x)).split(64):
                loss = F.mse_loss(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                if faulty:
                    plateau.step(loss.item())
            with torch.no_grad():
                val = F.mse_loss(model(xt), yt).item()
            if not faulty:
                plateau.step(val)
            monitor.log(val_loss=val)
    return -val
