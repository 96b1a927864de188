"""Adam with betas=(0.999, 0.9), the two in the wrong order: the direction is an average of a thousand steps, and its
length jumps with the last ten."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "optimizer"
EXPECTS = (
    "stale-momentum",
    "oscillating-loss",
    "oversized-update",
    "diverging-loss",
    "loss-spike",
    "stalled-loss",
    "noisy-loss",
    "lost-progress",
    "stuck-from-start",
)


class Words(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embedding, self.lstm, self.head = (
            nn.Embedding(vocab, 32),
            nn.LSTM(32, 96, batch_first=True),
            nn.Linear(96, vocab),
        )

    def forward(self, x):
        return self.head(self.lstm(self.embedding(x))[0])


def main(watch, faulty):
    ids, vocab = text()
    train, held = ids[:-8000], ids[-8000:]
    model = Words(vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, betas=(0.999, 0.9) if faulty else (0.9, 0.999))
    with watch(model, optimizer) as monitor:
        for step in range(500):
            x, y = windows(train, 32, 40)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % 50 == 49:
                model.eval()
                with torch.no_grad():
                    x, y = windows(held, 64, 40)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                model.train()
                monitor.log(val_loss=val)
    return -val
