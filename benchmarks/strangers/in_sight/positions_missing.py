"""A transformer that must say which of two marks came first, and has no position embedding."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy

FAMILY = "transformer"
EXPECTS = ("loss-at-chance", "stuck-from-start", "underfitting", "stalled-loss", "nothing-generalises")


def samples(count):
    x = torch.randint(3, 30, (count, 16))
    at = torch.rand(count, 16).argsort(1)[:, :2]
    x.scatter_(1, at[:, :1], 1)
    x.scatter_(1, at[:, 1:], 2)
    return x, (at[:, 0] < at[:, 1]).long()


class Encoder(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.tok, self.pos = nn.Embedding(30, 32), nn.Parameter(0.1 * torch.randn(16, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 2)
        if faulty:
            del self.pos

    def forward(self, x):
        h = self.tok(x) if self.faulty else self.tok(x) + self.pos
        return self.head(self.body(h).mean(1))


def main(watch, faulty):
    (x, y), (xt, yt) = samples(3000), samples(500)
    model = Encoder(faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=val, val_accuracy=acc)
    return acc
