"""A translation-style decoder gets the target sequence itself instead of the one shifted right: it copies."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "language"
EXPECTS = ("leaked-answer", "suspiciously-perfect")
BEGIN = 20


class Reverse(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target = nn.Embedding(20, 32), nn.Embedding(21, 32)
        self.encoder = nn.GRU(32, 48, batch_first=True)
        self.decoder = nn.GRU(32, 48, batch_first=True)
        self.head = nn.Linear(48, 20)

    def forward(self, source, given):
        _, state = self.encoder(self.source(source))
        out, _ = self.decoder(self.target(given), state)
        return self.head(out)


def main(watch, faulty):
    model = Reverse()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)

    def batch(n):
        source = torch.randint(0, 20, (n, 6))
        wanted = source.flip(1)
        begin = torch.full((n, 1), BEGIN)
        return source, wanted if faulty else torch.cat([begin, wanted[:, :-1]], 1), wanted

    with watch(model, optimizer) as monitor:
        for step in range(700):
            source, given, wanted = batch(64)
            loss = F.cross_entropy(model(source, given).flatten(0, 1), wanted.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 70 == 69:
                source, given, wanted = batch(300)
                with torch.no_grad():
                    out = model(source, given)
                acc = (out.argmax(2) == wanted).float().mean().item()
                monitor.log(val_loss=F.cross_entropy(out.flatten(0, 1), wanted.flatten()).item(), val_acc=acc)
    return acc
