"""Rotary positions are applied to the queries and forgotten for the keys."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "rotary transformer"
EXPECTS = ("stalled-loss", "underfitting", "loss-at-chance", "stuck-from-start")

VOCAB, LENGTH, LAG = 12, 24, 3


def rope_tables(dim, length):
    freq = 1.0 / (100 ** (torch.arange(0, dim, 2).float() / dim))
    angle = torch.arange(length).float()[:, None] * freq
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, dim, heads, rotate_keys):
        super().__init__()
        self.heads, self.rotate_keys = heads, rotate_keys
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim)
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        cos, sin = rope_tables(dim // heads, LENGTH)
        self.register_buffer("cos", cos)
        self.register_buffer("sin", sin)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (p.view(b, t, self.heads, -1).transpose(1, 2) for p in self.qkv(self.n1(x)).chunk(3, -1))
        q = rotate(q, self.cos[:t], self.sin[:t])
        if self.rotate_keys:
            k = rotate(k, self.cos[:t], self.sin[:t])
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.n2(x))


class Echo(nn.Module):
    def __init__(self, rotate_keys, dim=32, depth=2):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.blocks = nn.ModuleList(Block(dim, 4, rotate_keys) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, ids):
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def batch(n):
    x = torch.randint(0, VOCAB, (n, LENGTH))
    y = torch.full_like(x, -100)
    y[:, LAG:] = (x[:, LAG:] + x[:, :-LAG]) % VOCAB
    return x, y


def main(watch, faulty):
    model = Echo(rotate_keys=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3)
    steps = 400
    sched = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps, pct_start=0.1)
    xv, yv = batch(150)
    with watch(model, optimizer) as monitor:
        for step in range(1, steps + 1):
            x, y = batch(32)
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), ignore_index=-100)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            sched.step()
            if step % 50 == 0:
                model.eval()
                with torch.no_grad():
                    out = model(xv)
                    val = F.cross_entropy(out.flatten(0, 1), yv.flatten()).item()
                    acc = (out[:, LAG:].argmax(-1) == yv[:, LAG:]).float().mean().item()
                model.train()
                monitor.log(val_loss=val, val_acc=acc, step=step)
    return acc
