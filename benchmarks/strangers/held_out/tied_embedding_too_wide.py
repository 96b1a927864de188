"""The output layer shares an embedding with the default spread of one: the first loss is a hundred instead of ln V."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("wrong-initial-loss", "exploding-gradient", "oversized-update", "missing-warmup", "underfitting")


class LM(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.embed, self.rnn = nn.Embedding(vocab, 96), nn.GRU(96, 96, batch_first=True)
        self.norm, self.head = nn.LayerNorm(96), nn.Linear(96, vocab, bias=False)
        nn.init.normal_(self.embed.weight, std=1.0 if faulty else 0.02)
        self.head.weight = self.embed.weight

    def forward(self, x):
        return self.head(self.norm(self.rnn(self.embed(x))[0]))


def main(watch, faulty):
    ids, vocab = text()
    model = LM(vocab, faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer, config={"classes": vocab})
    for it in range(200):
        x, y = windows(ids[:-5000], 12, 32)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if it % 40 == 39:
            with torch.no_grad():
                x, y = windows(ids[-5000:], 32, 32)
                val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
            monitor.log(val_loss=val)
    monitor.close()
    return -val
