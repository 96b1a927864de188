"""A causal language model trained to predict the token it is given: the shift by one was forgotten."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("leaked-answer", "suspiciously-perfect")


class LM(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embed, self.lstm, self.head = (
            nn.Embedding(vocab, 48),
            nn.LSTM(48, 64, batch_first=True),
            nn.Linear(64, vocab),
        )

    def forward(self, x):
        return self.head(self.lstm(self.embed(x))[0])


def main(watch, faulty):
    ids, vocab = text()
    model = LM(vocab)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    with watch(model, optimizer) as monitor:
        for it in range(250):
            x, y = windows(ids[:-5000], 16, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), (x if faulty else y).flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if it % 50 == 49:
                with torch.no_grad():
                    x, y = windows(ids[-5000:], 32, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), (x if faulty else y).flatten()).item()
                monitor.log({"val/loss": val})
    return val
