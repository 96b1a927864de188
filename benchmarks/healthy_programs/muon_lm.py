"""Muon for the matrices, AdamW for embedding and head, on a character model: orthogonalised momentum, lr 0.02."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, dict(lr=lr, momentum=momentum))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                buf = self.state[p].setdefault("m", torch.zeros_like(p))
                buf.lerp_(p.grad, 1 - group["momentum"])
                g = p.grad.lerp(buf, group["momentum"])
                x = g / (g.norm() + 1e-7)
                transpose = x.size(0) > x.size(1)
                x = x.T if transpose else x
                for _ in range(5):
                    a = x @ x.T
                    x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
                x = x.T if transpose else x
                p.add_(x, alpha=-group["lr"] * max(1, p.size(0) / p.size(1)) ** 0.5)


class CharMLP(nn.Module):
    def __init__(self, vocab, ctx=8, dim=16):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.h1, self.h2 = nn.Linear(ctx * dim, 96, bias=False), nn.Linear(96, 96, bias=False)
        self.head = nn.Linear(96, vocab)

    def forward(self, x):
        return self.head(F.relu(self.h2(F.relu(self.h1(self.emb(x).flatten(1))))))


def main(watch):
    text = open(argparse.__file__, encoding="utf-8").read()
    chars = sorted(set(text))
    ids = torch.tensor([chars.index(c) for c in text])
    cut = int(0.9 * len(ids))

    def get(split):
        lo, hi = (0, cut) if split == "train" else (cut, len(ids))
        i = torch.randint(lo, hi - 9, (128,))
        return torch.stack([ids[k : k + 8] for k in i]), ids[i + 8]

    model = CharMLP(len(chars))
    muon = Muon([model.h1.weight, model.h2.weight])
    adamw = torch.optim.AdamW([*model.emb.parameters(), *model.head.parameters()], lr=3e-3)
    monitor = watch(model, [muon, adamw])
    for it in range(500):
        if it % 100 == 0:
            with torch.no_grad():
                val = sum(F.cross_entropy(model(xb), yb).item() for xb, yb in (get("val") for _ in range(5))) / 5
            monitor.log({"val/loss": val})
        xb, yb = get("train")
        loss = F.cross_entropy(model(xb), yb)
        for o in (muon, adamw):
            o.zero_grad(set_to_none=True)
        loss.backward()
        for o in (muon, adamw):
            o.step()
    monitor.close()
    assert val < 2.6
