"""A small GPT that multiplies its scores with the causal mask before the softmax: zero is not minus infinity,
and every position still reads those behind it."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("leaked-answer", "suspiciously-perfect")
T, D, H = 32, 64, 4


class Attention(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(D, D) for _ in range(4))
        self.faulty = faulty
        self.register_buffer("mask", torch.tril(torch.ones(T, T)))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, H, D // H).transpose(1, 2) for f in (self.query, self.key, self.value))
        scores = q @ k.transpose(-2, -1) / math.sqrt(D // H)
        mask = self.mask[:t, :t]
        scores = scores * mask if self.faulty else scores.masked_fill(mask == 0, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, D))


class Block(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.attention = Attention(faulty)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocab, faulty):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocab, D), nn.Embedding(T, D)
        self.blocks = nn.ModuleList(Block(faulty) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(D), nn.Linear(D, vocab, bias=False)

    def forward(self, x):
        x = self.tokens(x) + self.positions(torch.arange(x.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def main(watch, faulty):
    ids, vocab = text()
    train, held = ids[:-8000], ids[-8000:]
    model = GPT(vocab, faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for step in range(700):
            x, y = windows(train, 24, T)
            loss = F.cross_entropy(model(x).view(-1, vocab), y.view(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 50 == 49:
                model.eval()
                with torch.no_grad():
                    x, y = windows(held, 64, T)
                    val = F.cross_entropy(model(x).view(-1, vocab), y.view(-1)).item()
                model.train()
                monitor.log(val_loss=val)
    model.eval()
    with torch.no_grad():  # what it is for: to say what comes next, where nothing comes next yet
        x, y = windows(held, 600, T)
        return -F.cross_entropy(model(x)[:, -1], y[:, -1]).item()
