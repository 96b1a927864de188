"""CTC behind a front end that strides so far that fewer frames than symbols are left; zero_infinity hides it."""

import torch
from torch import nn

from strangers.sequences import speech

FAMILY = "speech"
EXPECTS = (
    "constant-loss",
    "faded-gradient",
    "dead-layer",
    "step-without-gradient",
    "suspiciously-perfect",
    "stuck-from-start",
)


class Recogniser(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.front = nn.Sequential(nn.Conv1d(12, 32, 5, stride=stride, padding=2), nn.ReLU())
        self.rnn, self.head = nn.GRU(32, 48, batch_first=True, bidirectional=True), nn.Linear(96, 9)

    def forward(self, x):
        h = self.front(x.transpose(1, 2)).transpose(1, 2)
        return self.head(self.rnn(h)[0]).log_softmax(-1)


def main(watch, faulty):
    (x, y), (xt, yt) = speech(1200), speech(200)
    model = Recogniser(8 if faulty else 2)
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    criterion = nn.CTCLoss(zero_infinity=True)
    with watch(model, opt):
        for _ in range(12):
            for i in torch.randperm(len(x)).split(40):
                out = model(x[i]).transpose(0, 1)
                loss = criterion(out, y[i], torch.full((len(i),), len(out)), torch.full((len(i),), 6))
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        best = model(xt).argmax(-1)
    right = [[int(s) for s in torch.unique_consecutive(p) if s] == t.tolist() for p, t in zip(best, yt, strict=True)]
    return sum(right) / len(right)
