"""Sequence to sequence without its bridge: the decoder begins from zeros and never hears of the source."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "seq2seq"
EXPECTS = ("silent-parameter", "loss-at-chance", "stalled-loss", "underfitting", "nothing-generalises", "dead-layer")
BOS = 10


class Seq2Seq(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.emb = nn.Embedding(11, 32)
        self.encoder, self.decoder = nn.GRU(32, 64, batch_first=True), nn.GRU(32, 64, batch_first=True)
        self.head = nn.Linear(64, 10)

    def forward(self, source, given):
        _, state = self.encoder(self.emb(source))
        out, _ = self.decoder(self.emb(given)) if self.faulty else self.decoder(self.emb(given), state)
        return self.head(out)


def samples(count):
    source = torch.randint(0, 10, (count, 5))
    target = source.flip(1)
    return source, torch.cat([torch.full((count, 1), BOS), target[:, :-1]], 1), target


def main(watch, faulty):
    train, test = samples(3000), samples(400)
    model = Seq2Seq(faulty)
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, opt) as monitor:
        for _ in range(15):
            for i in torch.randperm(3000).split(64):
                out = model(train[0][i], train[1][i])
                loss = F.cross_entropy(out.flatten(0, 1), train[2][i].flatten())
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(test[0], test[1])
            acc = (out.argmax(-1) == test[2]).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out.flatten(0, 1), test[2].flatten()).item(), val_acc=acc)
    return acc
