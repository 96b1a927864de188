"""Texts are cut to their first tokens, and what decides the label stands behind the cut."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy

FAMILY = "transformer"
EXPECTS = (
    "nothing-generalises",
    "overfitting",
    "loss-at-chance",
    "underfitting",
    "stuck-from-start",
    "gap-from-start",
    "stalled-loss",
)


def tickets(count):
    """A greeting of a dozen words that says nothing, then the matter."""
    y = torch.randint(0, 4, (count,))
    greeting, matter = torch.randint(1, 40, (count, 12)), 40 + torch.randint(0, 20, (count, 20))
    sure = torch.rand(count, 20) < 0.25
    return torch.cat(
        [greeting, torch.where(sure, 60 + 5 * y[:, None] + torch.randint(0, 5, (count, 20)), matter)], 1
    ), y


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(80, 32), nn.Embedding(32, 32)
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(32, 4)

    def forward(self, x):
        return self.head(self.body(self.tok(x) + self.pos(torch.arange(x.shape[1]))).mean(1))


def main(watch, faulty):
    (x, y), (xt, yt) = tickets(2000), tickets(500)
    longest = 12 if faulty else 32
    x, xt = x[:, :longest], xt[:, :longest]
    model = Encoder()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(10):
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
