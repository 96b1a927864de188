"""nanoGPT's loop: micro-steps with loss / steps, autocast in bfloat16, clipping at 1, warm-up and cosine by hand."""

import argparse
import math

import torch
import torch.nn.functional as F
from torch import nn

BLOCK, ACCUM, MAX_ITERS, WARMUP, LR, MIN_LR = 32, 4, 150, 15, 3e-3, 3e-4


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.ln1, self.ln2, self.heads = nn.LayerNorm(d), nn.LayerNorm(d), heads
        self.attn, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, self.heads, -1).transpose(1, 2) for z in self.attn(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(B, T, C))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocab, d=48):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, d), nn.Embedding(BLOCK, d)
        self.h = nn.Sequential(Block(d, 4), Block(d, 4))
        self.ln_f, self.lm_head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)
        self.apply(self._init)
        self.lm_head.weight = self.wte.weight

    def _init(self, m):
        if isinstance(m, nn.Linear | nn.Embedding):
            nn.init.normal_(m.weight, std=0.02)

    def forward(self, idx, targets):
        x = self.ln_f(self.h(self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))))
        logits = self.lm_head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def get_lr(it):
    if it < WARMUP:
        return LR * (it + 1) / (WARMUP + 1)
    ratio = (it - WARMUP) / (MAX_ITERS - WARMUP)
    return MIN_LR + 0.5 * (1 + math.cos(math.pi * ratio)) * (LR - MIN_LR)


def main(watch):
    text = open(argparse.__file__, encoding="utf-8").read()
    stoi = {c: i for i, c in enumerate(sorted(set(text)))}
    data = torch.tensor([stoi[c] for c in text])
    n = int(0.9 * len(data))

    def get_batch(split):
        d = data[:n] if split == "train" else data[n:]
        ix = torch.randint(len(d) - BLOCK - 1, (12,))
        return torch.stack([d[i : i + BLOCK] for i in ix]), torch.stack([d[i + 1 : i + 1 + BLOCK] for i in ix])

    model = GPT(len(stoi))
    decay = [p for p in model.parameters() if p.dim() >= 2]
    nodecay = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decay, "weight_decay": 0.1}, {"params": nodecay, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=LR, betas=(0.9, 0.95))
    monitor = watch(model, optimizer)
    scaler = torch.amp.GradScaler("cpu", enabled=False)

    @torch.no_grad()
    def estimate_loss():
        model.eval()
        out = {s: sum(model(*get_batch(s))[1].item() for _ in range(4)) / 4 for s in ("train", "val")}
        model.train()
        return out

    for it in range(MAX_ITERS + 1):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        if it % 30 == 0:
            losses = estimate_loss()
            monitor.log({"iter": it, "train/loss_eval": losses["train"], "val/loss": losses["val"]})
        for _micro in range(ACCUM):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                _, loss = model(*get_batch("train"))
                loss = loss / ACCUM
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
    monitor.close()
    assert losses["val"] < 2.8
