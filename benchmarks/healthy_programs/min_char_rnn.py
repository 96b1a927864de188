"""A character RNN in the manner of min-char-rnn: bare parameters, Adagrad at 0.1, gradients clamped by hand to five."""

import torch
import torch.nn.functional as F
from torch import nn

TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps on while the fox runs home. " * 8


class CharRNN(nn.Module):
    def __init__(self, vocabulary, hidden=64):
        super().__init__()
        self.Wxh = nn.Parameter(torch.randn(vocabulary, hidden) * 0.01)
        self.Whh = nn.Parameter(torch.randn(hidden, hidden) * 0.01)
        self.Why = nn.Parameter(torch.randn(hidden, vocabulary) * 0.01)
        self.bh, self.by = nn.Parameter(torch.zeros(hidden)), nn.Parameter(torch.zeros(vocabulary))

    def forward(self, inputs, h):
        out = []
        for x in inputs:
            h = torch.tanh(self.Wxh[x] + h @ self.Whh + self.bh)
            out.append(h @ self.Why + self.by)
        return torch.stack(out), h


def main(watch):
    chars = sorted(set(TEXT))
    data = torch.tensor([chars.index(c) for c in TEXT])
    model = CharRNN(len(chars))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    monitor = watch(model, optimizer)
    at, h, smooth, start = 0, torch.zeros(64), 0.0, None
    for n in range(800):
        if at + 26 >= len(data) or n == 0:
            at, h = 0, torch.zeros(64)
        inputs, targets = data[at : at + 25], data[at + 1 : at + 26]
        out, h = model(inputs, h.detach())
        loss = F.cross_entropy(out, targets, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        for p in model.parameters():
            p.grad.clamp_(-5, 5)
        optimizer.step()
        smooth = loss.item() if start is None else 0.98 * smooth + 0.02 * loss.item()
        start = smooth if start is None else start
        at += 25
    monitor.close()
    assert smooth < 0.5 * start
