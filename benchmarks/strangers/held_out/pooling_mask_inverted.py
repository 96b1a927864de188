"""Sentences of different length and attention pooling: the mask says which tokens are real, and it is the real
ones that
are masked out."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "language"
EXPECTS = ("loss-at-chance", "stuck-from-start", "dead-layer", "silent-parameter", "collapsed-activations",
           "nothing-generalises", "underfitting")  # fmt: skip
PAD = 0


def sentences(n, vocab=120, longest=20):
    label = torch.randint(0, 2, (n,))
    length = torch.randint(6, longest + 1, (n,))
    words = torch.randint(21, vocab, (n, longest))
    tone = label[:, None] * 10 + torch.randint(1, 11, (n, longest))
    words = torch.where(torch.rand(n, longest) < 0.2, tone, words)
    words[torch.arange(longest)[None] >= length[:, None]] = PAD
    return words, label


class Classifier(nn.Module):
    def __init__(self, inverted, vocab=120, dim=32):
        super().__init__()
        self.inverted = inverted
        self.embed = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.mix = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.score, self.out = nn.Linear(dim, 1), nn.Linear(dim, 2)

    def forward(self, ids):
        real = ids != PAD
        h = self.mix(self.embed(ids))
        score = self.score(h).squeeze(-1).masked_fill(real if self.inverted else ~real, -1e9)
        return self.out((score.softmax(1)[..., None] * h).sum(1))


def main(watch, faulty):
    train, (xv, yv) = TensorDataset(*sentences(2400)), sentences(500)
    loader = DataLoader(train, batch_size=48, shuffle=True)
    model = Classifier(inverted=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(8):
        for ids, label in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(ids), label).backward()
            optimizer.step()
        with torch.no_grad():
            out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_accuracy=acc, epoch=epoch)
    monitor.close()
    return acc
