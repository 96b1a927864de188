"""Eight micro-batches are accumulated without dividing the loss: with SGD the step is eight times too long."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("unscaled-accumulation", "oversized-update", "diverging-loss", "exploding-gradient", "loss-spike")


class Model(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embed, self.rnn, self.head = (
            nn.Embedding(vocab, 32),
            nn.GRU(32, 64, batch_first=True),
            nn.Linear(64, vocab),
        )

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])


def main(watch, faulty):
    ids, vocab = text()
    model = Model(vocab)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.6, momentum=0.9)
    accumulate = 8
    monitor = watch(model, optimizer)
    for step in range(120):
        for _ in range(accumulate):
            x, y = windows(ids, 4, 24)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            (loss if faulty else loss / accumulate).backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 19:
            with torch.no_grad():
                x, y = windows(ids, 64, 24)
                val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
            monitor.log(val_loss=val)
    monitor.close()
    return -val
