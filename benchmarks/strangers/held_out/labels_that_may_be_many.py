"""Several labels may be right at once, and the loss is cross-entropy, which lets them compete."""

import torch
from torch import nn

FAMILY = "classification"
EXPECTS = ("mismatched-loss", "loss-without-accuracy", "worsening-metric", "stalled-loss", "underfitting")


def main(watch, faulty):
    rule = torch.randn(30, 8)
    x = torch.randn(4000, 30)
    y = (x @ rule + 0.5 * torch.randn(4000, 8) > 1.5).float()
    x, y, xt, yt = x[:3200], y[:3200], x[3200:], y[3200:]
    model = nn.Sequential(nn.Linear(30, 128), nn.ReLU(), nn.Linear(128, 8))
    criterion = nn.CrossEntropyLoss() if faulty else nn.BCEWithLogitsLoss()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(15):
            for idx in torch.randperm(len(x)).split(64):
                loss = criterion(model(x[idx]), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt)
            guess = torch.sigmoid(out) > 0.5
            hits = (guess * yt).sum()
            f1 = (2 * hits / (guess.sum() + yt.sum())).item()
            monitor.log(val_loss=criterion(out, yt).item(), val_f1=f1)
    return f1
