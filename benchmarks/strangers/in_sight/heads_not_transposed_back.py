"""A small character model whose attention heads are merged without transposing back: positions are mixed up, and
early positions read later ones."""

import inspect
import textwrap

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "language"
EXPECTS = ("leaked-answer", "gap-from-start", "underfitting", "stalled-loss")
CONTEXT = 32


class Attention(nn.Module):
    def __init__(self, dim, heads, transpose_back):
        super().__init__()
        self.heads, self.transpose_back = heads, transpose_back
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        if self.transpose_back:
            out = out.transpose(1, 2)
        return self.proj(out.reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, dim, heads, transpose_back):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads, transpose_back)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        x = x + self.attn(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, transpose_back, dim=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, dim), nn.Embedding(CONTEXT, dim)
        self.blocks = nn.Sequential(*[Block(dim, 4, transpose_back) for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocab)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def main(watch, faulty):
    text = inspect.getsource(inspect) + inspect.getsource(textwrap)
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    cut = int(0.9 * len(ids))

    def batch(data, n):
        at = torch.randint(0, len(data) - CONTEXT - 1, (n,))
        return torch.stack([data[i : i + CONTEXT] for i in at]), torch.stack(
            [data[i + 1 : i + 1 + CONTEXT] for i in at]
        )

    model = CharLM(len(chars), transpose_back=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for step in range(450):
        x, y = batch(ids[:cut], 32)
        logits = model(x)
        loss = F.cross_entropy(logits.view(-1, len(chars)), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 100 == 99:
            model.eval()
            with torch.no_grad():
                x, y = batch(ids[cut:], 128)
                monitor.log(val_loss=F.cross_entropy(model(x).flatten(0, 1), y.flatten()).item())
            model.train()
    monitor.close()
    with torch.no_grad():  # as it is used: the last character of a growing text
        right = 0.0
        for length in (6, 10, 16, 24, 32):
            x, y = batch(ids[cut:], 400)
            right += (model(x[:, :length])[:, -1].argmax(-1) == y[:, length - 1]).float().mean().item()
    return right / 5
