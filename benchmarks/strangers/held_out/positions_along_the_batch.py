"""The tutorial's positional encoding expects (time, batch, width); with batch_first data it numbers the samples of
the batch instead of the words of the sentence."""

import math

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "positional encoding"
EXPECTS = ("mixed-samples", "underfitting", "stalled-loss", "loss-at-chance", "stuck-from-start")


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=512, batch_first=True):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(1000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)
        self.batch_first = batch_first

    def forward(self, x):
        if self.batch_first:
            return x + self.pe[: x.size(1)].transpose(0, 1)
        return x + self.pe[: x.size(0)]


class IntentModel(nn.Module):
    def __init__(self, ntoken=40, d=32, classes=8, batch_first=True):
        super().__init__()
        self.encoder = nn.Embedding(ntoken, d)
        self.pos = PositionalEncoding(d, batch_first=batch_first)
        self.layer = nn.TransformerEncoderLayer(d, 4, 64, dropout=0.0, batch_first=True)
        self.decoder = nn.Linear(d, classes)

    def forward(self, src):
        return self.decoder(self.layer(self.pos(self.encoder(src))).mean(1))


def sentences(n, length=14):
    x = torch.randint(0, 40, (n, length))
    y = x[:, 0] % 8  # the first word says what the speaker wants
    return x, torch.where(torch.rand(n) < 0.05, torch.randint(0, 8, (n,)), y)


def main(watch, faulty):
    x, y = sentences(4000)
    xv, yv = sentences(600)
    model = IntentModel(batch_first=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    steps = 500
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps, pct_start=0.15)
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            model.train()
            idx = torch.randint(0, len(x), (64,))
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if (step + 1) % 50 == 0:
                model.eval()
                with torch.no_grad():
                    out = torch.cat([model(b) for b in xv.split(100)])
                acc = (out.argmax(1) == yv).float().mean().item()
                monitor.log(step=step, val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    return acc
