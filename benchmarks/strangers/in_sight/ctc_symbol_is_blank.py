"""Speech-like sequences with CTC: the first symbol of the alphabet has number 0, and so has the blank."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "speech"
# The arguments of the loss tell it; what shows besides is a loss below zero, which a CTC loss cannot have.
EXPECTS = ("mismatched-loss", "unbounded-negative-loss", "loss-without-accuracy", "stalled-loss", "underfitting")
SYMBOLS = 5


def utterances(n, shapes):
    """Each symbol is a spectral pattern of three to five frames, with silence between them."""
    frames, targets = torch.zeros(n, 48, 12), []
    for row in range(n):
        length = int(torch.randint(3, 6, (1,)))
        text = torch.randint(0, SYMBOLS, (length,))
        at = int(torch.randint(0, 4, (1,)))
        for symbol in text:
            hold = int(torch.randint(3, 6, (1,)))
            frames[row, at : at + hold] = shapes[symbol]
            at += hold + int(torch.randint(1, 4, (1,)))
        targets.append(text)
    return frames + 0.3 * torch.randn_like(frames), targets


class Recogniser(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv1d(12, 32, 3, padding=1)
        self.rnn = nn.GRU(32, 32, bidirectional=True, batch_first=True)
        self.out = nn.Linear(64, classes)

    def forward(self, x):
        h = F.relu(self.conv(x.transpose(1, 2))).transpose(1, 2)
        return self.out(self.rnn(h)[0]).log_softmax(-1)


def greedy(logp, shift):
    best = logp.argmax(-1)
    texts = []
    for row in best:
        kept = torch.unique_consecutive(row)
        texts.append([int(s) - shift for s in kept if s != 0])
    return texts


def edits(a, b):
    last = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (x != y)))
        last = row
    return last[-1]


def main(watch, faulty):
    shapes = torch.randn(SYMBOLS, 12)
    x, y = utterances(640, shapes)
    xv, yv = utterances(100, shapes)
    shift = 0 if faulty else 1
    model = Recogniser(SYMBOLS + shift)
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    monitor = watch(model, optimizer)

    def loss_on(frames, texts):
        logp = model(frames).transpose(0, 1)
        lengths = torch.tensor([len(t) for t in texts])
        return ctc(logp, torch.cat(texts) + shift, torch.full((len(texts),), 48), lengths)

    for epoch in range(12):
        for idx in torch.randperm(len(x)).split(32):
            loss = loss_on(x[idx], [y[i] for i in idx])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        with torch.no_grad():
            texts = greedy(model(xv), shift)
            wrong = sum(edits(t.tolist(), text) for t, text in zip(yv, texts, strict=False))
            cer = wrong / sum(len(t) for t in yv)
            monitor.log(val_loss=loss_on(xv, yv).item(), val_cer=cer, epoch=epoch)
    monitor.close()
    return 1 - cer
