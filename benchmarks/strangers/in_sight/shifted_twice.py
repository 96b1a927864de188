"""The data set shifts the targets by one character, and the model shifts its labels by one more."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = (
    "gap-from-start",
    "nothing-generalises",
    "loss-without-accuracy",
    "underfitting",
    "stalled-loss",
    "metric-loss-disagreement",
    "overfitting",
)


class LM(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.faulty = faulty
        self.emb, self.rnn, self.head = nn.Embedding(vocab, 48), nn.LSTM(48, 96, batch_first=True), nn.Linear(96, vocab)

    def forward(self, x, labels=None):
        logits = self.head(self.rnn(self.emb(x))[0])
        if labels is None:
            return logits
        if self.faulty:
            logits_, labels = logits[:, :-1], labels[:, 1:]
            return logits, F.cross_entropy(logits_.flatten(0, 1), labels.flatten())
        return logits, F.cross_entropy(logits.flatten(0, 1), labels.flatten())


def main(watch, faulty):
    ids, vocab = text()
    model = LM(vocab, faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
    with watch(model, opt) as monitor:
        for step in range(500):
            x, y = windows(ids[:-8000], 24, 32)
            _, loss = model(x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with torch.no_grad():
                    x, y = windows(ids[-8000:], 64, 32)
                    out = model(x)
                    acc = (out.argmax(-1) == y).float().mean().item()
                monitor.log(val_loss=F.cross_entropy(out.flatten(0, 1), y.flatten()).item(), val_acc=acc)
    return acc
