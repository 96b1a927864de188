"""A LambdaLR whose function returns the learning rate itself, where the factor to multiply it by belongs."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("undersized-update", "vanished-learning-rate", "stuck-from-start", "loss-at-chance", "stalled-loss")
STEPS, BASE = 350, 2e-3


class CharGRU(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb, self.rnn, self.head = nn.Embedding(vocab, 48), nn.GRU(48, 96, batch_first=True), nn.Linear(96, vocab)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def rate(step):
    if step < 30:
        return (step + 1) / 30
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - 30) / (STEPS - 30)))


def main(watch, faulty):
    ids, vocab = text()
    model = CharGRU(vocab)
    opt = torch.optim.AdamW(model.parameters(), lr=BASE)
    schedule = torch.optim.lr_scheduler.LambdaLR(opt, (lambda s: BASE * rate(s)) if faulty else rate)
    with watch(model, opt):
        for _ in range(STEPS):
            x, y = windows(ids[:-8000], 16, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            schedule.step()
    with torch.no_grad():
        x, y = windows(ids[-8000:], 200, 32)
        return (model(x).argmax(-1) == y).float().mean().item()
