"""A small GPT whose causal mask is transposed: every character sees itself and all that come after it."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("leaked-answer", "suspiciously-perfect")
T, D = 32, 64


class Block(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.proj = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))
        mask = torch.ones(T, T)
        self.register_buffer("mask", torch.triu(mask) if faulty else torch.tril(mask))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (each.view(b, t, 4, D // 4).transpose(1, 2) for each in self.qkv(self.ln1(x)).split(D, 2))
        att = q @ k.transpose(-2, -1) / math.sqrt(D // 4)
        att = att.masked_fill(self.mask[:t, :t] == 0, float("-inf")).softmax(-1)
        x = x + self.proj((att @ v).transpose(1, 2).reshape(b, t, D))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, D), nn.Embedding(T, D)
        self.blocks = nn.Sequential(Block(faulty), Block(faulty))
        self.ln, self.head = nn.LayerNorm(D), nn.Linear(D, vocab)

    def forward(self, x):
        return self.head(self.ln(self.blocks(self.tok(x) + self.pos(torch.arange(x.shape[1])))))


def main(watch, faulty):
    ids, vocab = text()
    train, held = ids[:-8000], ids[-8000:]
    model = GPT(vocab, faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for step in range(500):
            x, y = windows(train, 24, T)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            if step % 50 == 49:
                with torch.no_grad():
                    x, y = windows(held, 64, T)
                    monitor.log(val_loss=F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
    with torch.no_grad():  # what it is for: the last character, of which nothing behind is known
        x, y = windows(held, 500, T)
        return (model(x)[:, -1].argmax(-1) == y[:, -1]).float().mean().item()
