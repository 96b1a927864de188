"""A linear warm-up copied from a large run: a million steps, in a run of nine hundred."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "schedule"
EXPECTS = ("endless-warmup", "undersized-update", "vanished-learning-rate")


class Bigram(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 48)
        self.gru = nn.GRU(48, 64, batch_first=True)
        self.head = nn.Linear(64, vocabulary)

    def forward(self, x):
        return self.head(self.gru(self.embed(x))[0])


def main(watch, faulty):
    ids, vocabulary = text()
    model = Bigram(vocabulary)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    warmup = 1_000_000 if faulty else 60
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
    edge = int(0.9 * len(ids))
    with watch(model, optimizer) as monitor:
        for step in range(900):
            x, y = windows(ids[:edge], 16, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            if step % 100 == 99:
                with torch.no_grad():
                    x, y = windows(ids[edge:], 64, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
