"""Sales that grow year by year are scaled to the range of the first years; the later years lie outside of it, where the
recurrent net with its tanh has never been."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("inputs-differ", "gap-from-start", "nothing-generalises", "overfitting", "erratic-validation")
PAST = 28


def sales(days=2200):
    t = torch.arange(days).float()
    level = 50 * torch.exp(t / 500)
    week = 1 + 0.25 * torch.sin(2 * torch.pi * t / 7) + 0.1 * torch.cos(4 * torch.pi * t / 7)
    return level * week * (1 + 0.03 * torch.randn(days))


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.out = nn.LSTM(1, 40, batch_first=True), nn.Linear(40, 1)

    def forward(self, x):
        return self.out(self.lstm(x[..., None])[0][:, -1]).squeeze(1)


def main(watch, faulty):
    raw = sales()
    split = 1500
    if faulty:
        low, high = raw[:split].min(), raw[:split].max()
        series = (raw - low) / (high - low)
    else:  # logarithm and difference to the week before: the same in every year
        series = torch.zeros_like(raw)
        series[7:] = 4 * (raw[7:].log() - raw[:-7].log())
    x = series.unfold(0, PAST, 1)[:-1]
    y = series[PAST:]
    train, val = torch.arange(7, split - PAST), torch.arange(split, len(y))
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            for i in train[torch.randperm(len(train))].split(32):
                loss = F.mse_loss(model(x[i]), y[i])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                guess = model(x[val])
            monitor.log(val_loss=F.mse_loss(guess, y[val]).item())
    forecast = guess * (high - low) + low if faulty else raw[val + PAST - 7] * (guess / 4).exp()
    truth = raw[val + PAST]
    return -((forecast - truth).abs() / truth).mean().item()
