"""A character LSTM trained with SGD, whose settings are a plain list of numbers: clip_grad_value_ got the epsilon."""

import torch
from torch import nn

from strangers.common import text

FAMILY = "language"
EXPECTS = (
    "gradient-always-clipped",
    "undersized-update",
    "stalled-loss",
    "stuck-from-start",
    "underfitting",
    "loss-at-chance",
)


class CharLSTM(nn.Module):
    def __init__(self, vocabulary, width=96):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, 32)
        self.lstm = nn.LSTM(32, width, batch_first=True)
        self.decode = nn.Linear(width, vocabulary)

    def forward(self, ids, state=None):
        out, state = self.lstm(self.embed(ids), state)
        return self.decode(out), state


def batches(ids, rows, length):
    """Rows of text that go on from batch to batch."""
    ids = ids[: len(ids) // rows * rows].view(rows, -1)
    for at in range(0, ids.shape[1] - length - 1, length):
        yield ids[:, at : at + length], ids[:, at + 1 : at + length + 1]


def evaluate(model, ids, criterion):
    model.eval()
    state, total, count = None, 0.0, 0
    with torch.no_grad():
        for x, y in batches(ids, 8, 32):
            out, state = model(x, state)
            total, count = total + criterion(out.transpose(1, 2), y).item(), count + 1
    return total / count


def main(watch, faulty):
    ids, vocabulary = text()
    train, valid, test = ids[:60000], ids[60000:75000], ids[75000:]
    model = CharLSTM(vocabulary)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    limit = 1e-5 if faulty else 0.1
    with watch(model, optimizer) as monitor:
        for epoch in range(1, 5):
            model.train()
            state = None
            for x, y in batches(train, 16, 32):
                optimizer.zero_grad()
                out, state = model(x, state)
                state = tuple(s.detach() for s in state)
                loss = criterion(out.transpose(1, 2), y)
                loss.backward()
                nn.utils.clip_grad_value_(model.parameters(), limit)
                optimizer.step()
            monitor.log(epoch=epoch, valid_loss=evaluate(model, valid, criterion))
    return -evaluate(model, test, criterion)
