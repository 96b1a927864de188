"""Noam's schedule already is the learning rate, but the optimizer was given 3e-4 as its base: the rate never
gets above a millionth."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import tagged

FAMILY = "schedule"
EXPECTS = (
    "undersized-update",
    "vanished-learning-rate",
    "stuck-from-start",
    "stalled-loss",
    "underfitting",
    "still-falling",
)


class Tagger(nn.Module):
    def __init__(self, words=60, tags=6, d=48, length=16):
        super().__init__()
        self.embed = nn.Embedding(words, d, padding_idx=0)
        self.where = nn.Parameter(torch.randn(length, d) * 0.3)
        self.conv = nn.Conv1d(d, d, 3, padding=1)
        layer = nn.TransformerEncoderLayer(d, 4, 96, dropout=0.05, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(d, tags)

    def forward(self, x):
        h = self.embed(x) + self.where[: x.size(1)]
        h = h + self.conv(h.transpose(1, 2)).transpose(1, 2)
        return self.out(self.encoder(h, src_key_padding_mask=x == 0))


class NoamOpt:
    "Optim wrapper that implements rate."

    def __init__(self, model_size, factor, warmup, optimizer):
        self.model_size, self.factor, self.warmup = model_size, factor, warmup
        self.schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: self.rate(s + 1))

    def rate(self, step):
        return self.factor * self.model_size**-0.5 * min(step**-0.5, step * self.warmup**-1.5)


def main(watch, faulty):
    x, y, _ = tagged(5200, length=16)
    slips = (torch.rand(y.shape) < 0.04) & (y >= 0)  # annotators err
    y = torch.where(slips, torch.randint(0, 6, y.shape), y)
    xv, yv = x[4800:], y[4800:]
    x, y = x[:4800], y[:4800]
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4 if faulty else 1.0, betas=(0.9, 0.98), eps=1e-9)
    noam = NoamOpt(48, 0.25, 80, optimizer)
    with watch(model, optimizer) as monitor:
        for epoch in range(5):
            model.train()
            for idx in torch.randperm(len(x)).split(60):
                loss = F.cross_entropy(model(x[idx]).flatten(0, 1), y[idx].flatten(), ignore_index=-100)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                noam.schedule.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
                val_loss = F.cross_entropy(out.flatten(0, 1), yv.flatten(), ignore_index=-100).item()
                real = yv >= 0
                val_acc = (out.argmax(-1)[real] == yv[real]).float().mean().item()
            monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc)
    return val_acc
