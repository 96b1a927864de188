"""Sentences are sorted by length to be packed, and their labels are not."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from strangers.sequences import reviews

FAMILY = "recurrent"
EXPECTS = (
    "nothing-generalises",
    "loss-at-chance",
    "stuck-from-start",
    "underfitting",
    "stalled-loss",
    "overfitting",
    "gap-from-start",
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(200, 24, padding_idx=0), nn.GRU(24, 32, batch_first=True)
        self.head = nn.Linear(32, 2)

    def forward(self, x, lengths):
        packed = pack_padded_sequence(self.emb(x), lengths, batch_first=True)
        return self.head(self.rnn(packed)[1][-1])


def collate(x, y, lengths, faulty=False):
    lengths, order = lengths.sort(descending=True)
    return x[order], y if faulty else y[order], lengths


def main(watch, faulty):
    (x, y, n), test = reviews(2400, 30), reviews(500, 30)
    xt, yt, nt = collate(*test)
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, opt) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(48):
                xb, yb, nb = collate(x[i], y[i], n[i], faulty)
                loss = F.cross_entropy(model(xb, nb), yb)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt, nt)
            acc = (out.argmax(-1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    return acc
