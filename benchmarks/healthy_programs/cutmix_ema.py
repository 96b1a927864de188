"""CutMix, label smoothing, an averaged copy for evaluation, warm-up and cosine: a small timm-style recipe."""

import copy
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def cutmix(x, y):
    share, order = float(torch.distributions.Beta(1.0, 1.0).sample()), torch.randperm(len(x))
    size = int(8 * (1 - share) ** 0.5)
    r, c = (int(v) for v in torch.randint(0, 9 - size, (2,)))
    x = x.clone()
    x[:, :, r : r + size, c : c + size] = x[order][:, :, r : r + size, c : c + size]
    return x, y, y[order], 1 - size * size / 64


def main(watch):
    X, y = load_digits(return_X_y=True)
    X, y = torch.tensor(X, dtype=torch.float32).view(-1, 1, 8, 8) / 16, torch.tensor(y)
    model = nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.SiLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.SiLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.05)
    total = 14 * 22
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / 44, 0.5 * (1 + math.cos(math.pi * s / total)))
    )
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    monitor = watch(model, optimizer)
    for epoch in range(14):
        model.train()
        for i in torch.randperm(1400)[: 22 * 63].split(63):
            x, a, b, share = cutmix(X[i], y[i])
            out = model(x)
            loss = share * criterion(out, a) + (1 - share) * criterion(out, b)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            with torch.no_grad():
                for mine, theirs in zip(average.state_dict().values(), model.state_dict().values(), strict=True):
                    mine.copy_(theirs if mine.dtype == torch.long else mine.lerp(theirs, 0.1))
        average.eval()
        with torch.no_grad():
            out = average(X[1400:])
        top1 = (out.argmax(1) == y[1400:]).float().mean().item()
        monitor.log({"eval/loss": F.cross_entropy(out, y[1400:]).item(), "eval/top1": 100 * top1, "epoch": epoch})
    monitor.close()
    assert top1 > 0.85
