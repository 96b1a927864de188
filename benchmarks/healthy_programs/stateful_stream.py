"""Truncated backpropagation along sixteen parallel streams: the LSTM's state is carried from batch to batch,
detached."""

import torch
from torch import nn

from strangers.common import text


class CharModel(nn.Module):
    def __init__(self, symbols, width=96):
        super().__init__()
        self.embed = nn.Embedding(symbols, 32)
        self.lstm = nn.LSTM(32, width, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, symbols)

    def forward(self, ids, state=None):
        h, state = self.lstm(self.embed(ids), state)
        return self.out(self.drop(h)), state


def streams(ids, count):
    per = len(ids) // count
    return ids[: per * count].view(count, per)


def main(watch):
    ids, symbols = text()
    cut = int(0.9 * len(ids))
    train, val = streams(ids[:cut], 16), streams(ids[cut:], 8)
    model = CharModel(symbols)
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    criterion = nn.CrossEntropyLoss()
    length, epochs = 50, 4
    chunks = (train.shape[1] - 1) // length
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs * chunks)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        model.train()
        state = None
        for at in range(0, chunks * length, length):
            x, y = train[:, at : at + length], train[:, at + 1 : at + 1 + length]
            if state is not None:
                state = tuple(s.detach() for s in state)
            out, state = model(x, state)
            loss = criterion(out.flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        model.eval()
        with torch.no_grad():
            out, _ = model(val[:, :-1])
            val_loss = criterion(out.flatten(0, 1), val[:, 1:].flatten()).item()
        monitor.log(epoch=epoch, val_loss=val_loss)
    monitor.close()
    assert val_loss < 2.3, val_loss
