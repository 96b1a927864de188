"""Sixteen micro-batches are meant to add up, but the gradient is cleared before each of them."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import tagged

FAMILY = "recurrent"
EXPECTS = (
    "undersized-update",
    "stuck-from-start",
    "loss-at-chance",
    "stalled-loss",
    "underfitting",
    "never-stepped",
    "noisy-loss",
)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(60, 32), nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, 6)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def main(watch, faulty):
    x, y, _ = tagged(2048)
    xt, yt, _ = tagged(400)
    model = Tagger()
    opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    accumulate, count = 16, 0
    with watch(model, opt) as monitor:
        for _ in range(24):
            for i in torch.randperm(len(x)).split(8):
                if faulty or count % accumulate == 0:
                    opt.zero_grad()
                loss = F.cross_entropy(model(x[i]).flatten(0, 1), y[i].flatten())
                (loss / accumulate).backward()
                count += 1
                if count % accumulate == 0:
                    opt.step()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(-1) == yt)[yt != -100].float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out.flatten(0, 1), yt.flatten()).item(), val_acc=acc)
    return acc
