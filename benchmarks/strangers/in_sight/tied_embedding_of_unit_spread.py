"""A word model whose output shares the embedding, and the embedding keeps its default spread of one: the first logits
are in the tens."""

import inspect
import json.decoder
import textwrap

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "language"
EXPECTS = ("wrong-initial-loss", "oversized-update", "gradient-always-clipped")


class WordModel(nn.Module):
    def __init__(self, vocab, dim, std):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        nn.init.normal_(self.embed.weight, std=std)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, vocab)
        self.out.weight = self.embed.weight

    def forward(self, ids):
        return self.out(self.norm(self.rnn(self.embed(ids))[0]))


def corpus():
    source = inspect.getsource(textwrap) + inspect.getsource(json.decoder)
    words = [source[i : i + 2] for i in range(0, len(source) - 1, 2)]
    kept = {w: i for i, w in enumerate(dict.fromkeys(words))}
    return torch.tensor([kept[w] for w in words]), len(kept)


def main(watch, faulty):
    ids, vocab = corpus()
    cut = int(0.9 * len(ids))
    model = WordModel(vocab, 160, 1.0 if faulty else 0.02)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)

    def loss_on(data, n):
        at = torch.randint(0, len(data) - 21, (n,))
        x = torch.stack([data[i : i + 21] for i in at])
        return F.cross_entropy(model(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten())

    for step in range(300):
        loss = loss_on(ids[:cut], 16)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 49:
            with torch.no_grad():
                val = loss_on(ids[cut:], 100).item()
            monitor.log(val_loss=val)
    monitor.close()
    return -val
