"""Padding is nine tenths of the targets and is not ignored: the model learns to say padding."""

import random

import torch
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("padded-targets", "lopsided-labels", "suspiciously-perfect", "loss-without-accuracy")


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.rnn, self.out = nn.Embedding(30, 24), nn.GRU(24, 32, batch_first=True), nn.Linear(32, 8)

    def forward(self, x):
        return self.out(self.rnn(self.embed(x))[0])


def make(n):
    x, y = torch.zeros(n, 48, dtype=torch.long), torch.zeros(n, 48, dtype=torch.long)
    for i in range(n):
        k = random.randint(2, 7)
        x[i, :k] = torch.randint(1, 30, (k,))
        y[i, :k] = (x[i, :k] + torch.cat([x[i, :1], x[i, : k - 1]])) % 7 + 1
    return x, y


def main(watch, faulty):
    model = Tagger()
    criterion = nn.CrossEntropyLoss(ignore_index=-100 if faulty else 0)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    xv, yv = make(200)
    with watch(model, optimizer) as monitor:
        for step in range(250):
            x, y = make(32)
            loss = criterion(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 24:
                with torch.no_grad():
                    out = model(xv)
                acc = (out.argmax(-1) == yv)[yv > 0].float().mean().item()
                monitor.log(val_loss=criterion(out.flatten(0, 1), yv.flatten()).item(), token_accuracy=acc)
    return acc
