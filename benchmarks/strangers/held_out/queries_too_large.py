"""Attention without the division by sqrt(d), and projections initialised ten times too wide: one key takes all."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "language"
EXPECTS = ("collapsed-attention", "saturated-units", "exploding-gradient", "oversized-update")


class Attention(nn.Module):
    def __init__(self, d, heads, faulty):
        super().__init__()
        self.heads, self.qkv, self.proj = heads, nn.Linear(d, 3 * d), nn.Linear(d, d)
        nn.init.normal_(self.qkv.weight, std=1.0 if faulty else 0.02)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, self.heads, -1).transpose(1, 2) for z in self.qkv(x).chunk(3, -1))
        mask = torch.ones(T, T, dtype=torch.bool).tril()
        weights = (q @ k.transpose(-2, -1)).masked_fill(~mask, float("-inf")).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(B, T, C))


class GPT(nn.Module):
    def __init__(self, vocab, faulty, d=64):
        super().__init__()
        self.embed, self.pos = nn.Embedding(vocab, d), nn.Embedding(32, d)
        self.ln1, self.attn, self.ln2 = nn.LayerNorm(d), Attention(d, 4, faulty), nn.LayerNorm(d)
        self.mlp, self.head = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)), nn.Linear(d, vocab)

    def forward(self, x):
        h = self.embed(x) + self.pos(torch.arange(x.shape[1]))
        h = h + self.attn(self.ln1(h))
        return self.head(h + self.mlp(self.ln2(h)))


def main(watch, faulty):
    ids, vocab = text()
    model = GPT(vocab, faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for it in range(300):
            x, y = windows(ids[:-5000], 12, 32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if it % 60 == 59:
                with torch.no_grad():
                    x, y = windows(ids[-5000:], 32, 32)
                    val = F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item()
                monitor.log(val_loss=val)
    return -val
