"""A run is taken up again with more data and a new learning rate, and load_state_dict of the optimizer, called after
that, brings back the rate at which the first run's schedule had ended."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "resume"
EXPECTS = ("vanished-learning-rate", "undersized-update", "stuck-from-start", "stalled-loss", "constant-loss")


class Net(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.embedding, self.gru, self.head = (
            nn.Embedding(vocab, 32),
            nn.GRU(32, 96, batch_first=True),
            nn.Linear(96, vocab),
        )

    def forward(self, x):
        return self.head(self.gru(self.embedding(x))[0])


def loss_of(model, ids, batch=32):
    x, y = windows(ids, batch, 40)
    return F.cross_entropy(model(x).flatten(0, 1), y.flatten())


def main(watch, faulty):
    ids, vocab = text()
    first, train, held = ids[:4000], ids[:-8000], ids[-8000:]
    model = Net(vocab)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 150, eta_min=1e-8)
    for _ in range(150):  # the first run, which nobody watched
        optimizer.zero_grad()
        loss_of(model, first).backward()
        optimizer.step()
        scheduler.step()
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}

    model = Net(vocab)
    model.load_state_dict(checkpoint["model"])
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    optimizer.load_state_dict(checkpoint["optimizer"])
    if not faulty:
        for group in optimizer.param_groups:
            group["lr"] = 2e-3
    with watch(model, optimizer) as monitor:
        for step in range(350):
            optimizer.zero_grad()
            loss_of(model, train).backward()
            optimizer.step()
            if step % 35 == 34:
                model.eval()
                with torch.no_grad():
                    val = loss_of(model, held, 128).item()
                model.train()
                monitor.log(val_loss=val)
    return -val
