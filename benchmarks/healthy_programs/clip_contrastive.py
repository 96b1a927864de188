"""Two towers as in CLIP: pictures of digits against their names in letters, learned temperature, symmetric loss."""

import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


class Clip(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.visual = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, width))
        self.letters = nn.Embedding(27, 32, padding_idx=0)
        self.text = nn.GRU(32, 64, batch_first=True)
        self.projection = nn.Linear(64, width)
        self.logit_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, images, texts):
        a = F.normalize(self.visual(images), dim=-1)
        b = F.normalize(self.projection(self.text(self.letters(texts))[1][0]), dim=-1)
        return self.logit_scale.exp().clamp(max=100) * a @ b.T


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32) / 16, torch.tensor(y)
    tokens = torch.tensor([[ord(c) - 96 for c in name.ljust(5, "`")] for name in NAMES])
    model = Clip()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-6, weight_decay=0.2)
    total = 300
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min(1, (s + 1) / 30) * 0.5 * (1 + math.cos(math.pi * s / total))
    )
    monitor = watch(model, optimizer)
    groups = [(y[:1400] == c).nonzero()[:, 0] for c in range(10)]
    for step in range(total):
        i = torch.stack([g[torch.randint(len(g), ())] for g in groups])  # one picture of each digit
        logits = model(X[i], tokens)
        labels = torch.arange(10)
        loss = (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 30 == 29:
            with torch.no_grad():
                zero_shot = (model(X[1400:], tokens).argmax(1) == y[1400:]).float().mean().item()
            monitor.log({"val/zero_shot_top1": zero_shot, "logit_scale": model.logit_scale.item()})
    monitor.close()
    assert zero_shot > 0.7
