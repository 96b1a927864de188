"""For validation the last readings come out of a deque with the newest first; the network was trained with the
oldest first."""

from collections import deque

import torch
import torch.nn as nn

from strangers.sequences import series

FAMILY = "time series"
EXPECTS = ("misread-validation", "gap-from-start", "inputs-differ", "nothing-generalises")

WINDOW = 24


def training_windows(s):
    w = s.unfold(0, WINDOW + 1, 1)
    return w[:, :-1], w[:, -1]


def replay(s, newest_first):
    history, xs, ys = deque(maxlen=WINDOW), [], []
    for value in s.tolist():
        if len(history) == WINDOW:
            xs.append(list(history))
            ys.append(value)
        if newest_first:
            history.appendleft(value)
        else:
            history.append(value)
    return torch.tensor(xs), torch.tensor(ys)


class Forecaster(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(WINDOW, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1)
        )

    def forward(self, x):
        return self.net(x).squeeze(1)


def main(watch, faulty):
    s = series(4000)
    s = (s - s[:3200].mean()) / s[:3200].std()
    x, y = training_windows(s[:3200])
    xv, yv = replay(s[3200:], newest_first=faulty)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 14)
    mae, mse = nn.L1Loss(), nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(14):
            model.train()
            for idx in torch.randperm(len(x)).split(48):
                optimizer.zero_grad()
                loss = mse(model(x[idx]), y[idx])
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            with torch.no_grad():
                pred = model(xv)
            monitor.log(epoch=epoch, val_loss=mse(pred, yv).item(), val_mae=mae(pred, yv).item())
    return 1 - mse(pred, yv).item() / yv.var().item()
