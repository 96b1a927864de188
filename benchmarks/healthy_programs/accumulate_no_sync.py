"""Accumulation in the style of DDP loops: no_sync for all but the last micro-batch, tokens counted over the window."""

import contextlib

import torch
import torch.nn.functional as F
from torch import nn


class Bigram(nn.Module):
    def __init__(self, vocabulary=32, dim=32):
        super().__init__()
        self.embed, self.rnn, self.head = (
            nn.Embedding(vocabulary, dim),
            nn.GRU(dim, 64, batch_first=True),
            nn.Linear(64, vocabulary),
        )

    def forward(self, x):
        return self.head(self.rnn(self.embed(x))[0])

    def no_sync(self):
        return contextlib.nullcontext()


def main(watch):
    table = torch.randint(32, (32, 2))

    def text(n, length=24):
        out = [torch.randint(32, (n,))]
        for _ in range(length):
            out.append(table[out[-1], (torch.rand(n) < 0.2).long()])
        tokens = torch.stack(out, 1)
        for row, size in zip(tokens, torch.randint(8, length + 1, (n,)), strict=True):
            row[size + 1 :] = -100
        return tokens

    model = Bigram()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    monitor = watch(model, optimizer)
    held = text(200)
    for step in range(250):
        window = [text(8) for _ in range(4)]
        items = sum((b[:, 1:] != -100).sum() for b in window)
        for k, b in enumerate(window):
            with model.no_sync() if k < 3 else contextlib.nullcontext():
                logits = model(b[:, :-1].clamp(min=0))
                loss = F.cross_entropy(logits.flatten(0, 1), b[:, 1:].flatten(), reduction="sum") / items
                loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if step % 25 == 24:
            model.eval()
            with torch.no_grad():
                logits = model(held[:, :-1].clamp(min=0))
                val = F.cross_entropy(logits.flatten(0, 1), held[:, 1:].flatten()).item()
            model.train()
            monitor.log(val_loss=val)
    monitor.close()
    assert val < 1.2
