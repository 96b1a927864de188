"""nn.LSTM without batch_first=True fed with (batch, time, features): the recurrence runs over the samples."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("mixed-samples", "loss-at-chance", "stuck-from-start", "underfitting", "stalled-loss", "gap-from-start")


class Tagger(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.lstm = nn.LSTM(4, 32, batch_first=not faulty)
        self.head = nn.Linear(32, 3)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def make(n):
    x = torch.randn(n, 12, 4)
    score = x[..., 0].sum(1)
    return x, (score > 1.5).long() + (score > -1.5).long()


def main(watch, faulty):
    model = Tagger(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    x, y = make(2000)
    xv, yv = make(500)
    with watch(model, optimizer) as monitor:
        for _ in range(15):
            for idx in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x[idx]), y[idx])
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
                optimizer.step()
            model.eval()
            with torch.no_grad():
                out = torch.cat([model(part) for part in xv.split(50)])
            model.train()
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
