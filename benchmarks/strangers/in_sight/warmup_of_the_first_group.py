"""A schedule written by hand sets the rate of param_groups[0] alone; the others keep the tiny rate they began with."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("undersized-update", "unmoved-parameter", "vanished-learning-rate", "frozen-learning-rate", "stalled-loss")
STEPS = 350


class CharGRU(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.emb, self.rnn, self.head = nn.Embedding(vocab, 48), nn.GRU(48, 96, batch_first=True), nn.Linear(96, vocab)

    def forward(self, x):
        return self.head(self.rnn(self.emb(x))[0])


def main(watch, faulty):
    ids, vocab = text()
    model = CharGRU(vocab)
    groups = [{"params": model.emb.parameters(), "weight_decay": 0.0}]
    groups += [{"params": [*model.rnn.parameters(), *model.head.parameters()], "weight_decay": 0.01}]
    opt = torch.optim.AdamW(groups, lr=1e-6)
    with watch(model, opt) as monitor:
        for step in range(STEPS):
            rate = 3e-3 * min(1.0, (step + 1) / 30) * (0.55 + 0.45 * math.cos(math.pi * step / STEPS))
            for group in opt.param_groups[:1] if faulty else opt.param_groups:
                group["lr"] = rate
            x, y = windows(ids[:-8000], 16, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with torch.no_grad():
                    x, y = windows(ids[-8000:], 64, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
