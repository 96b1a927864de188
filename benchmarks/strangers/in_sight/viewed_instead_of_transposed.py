"""Scores of (batch, time, class) are brought into (batch, class, time) with view, which mixes them all up."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import tagged

FAMILY = "text"
EXPECTS = (
    "loss-at-chance",
    "underfitting",
    "stalled-loss",
    "nothing-generalises",
    "loss-without-accuracy",
    "gap-from-start",
    "overfitting",
)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb, self.rnn = nn.Embedding(60, 32), nn.LSTM(32, 32, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, 6)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def main(watch, faulty):
    x, y, _ = tagged(1600)
    xt, yt, _ = tagged(400)
    model = Tagger()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    with watch(model, opt):
        for _ in range(12):
            for i in torch.randperm(len(x)).split(40):
                out = model(x[i])
                out = out.view(len(i), 6, 20) if faulty else out.permute(0, 2, 1)
                loss = F.cross_entropy(out, y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        return (model(xt).argmax(-1) == yt)[yt != -100].float().mean().item()
