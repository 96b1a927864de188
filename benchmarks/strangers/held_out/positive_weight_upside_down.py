"""Rare positives with pos_weight = positives / negatives: the rare class is made rarer still."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "tabular"
EXPECTS = ("loss-without-accuracy", "lopsided-labels", "stalled-loss", "underfitting")


def main(watch, faulty):
    x = torch.randn(8000, 20)
    score = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * x[:, 3]
    y = (score + 0.3 * torch.randn(8000) > 2.6).float()
    x, y, xt, yt = x[:6000], y[:6000], x[6000:], y[6000:]
    positives, negatives = y.sum(), (1 - y).sum()
    weight = positives / negatives if faulty else negatives / positives
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(15):
            for idx in torch.randperm(len(x)).split(100):
                loss = F.binary_cross_entropy_with_logits(model(x[idx]).squeeze(1), y[idx], pos_weight=weight)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                out = model(xt).squeeze(1)
            val = F.binary_cross_entropy_with_logits(out, yt, pos_weight=weight).item()
            recall = ((out > 0) * yt).sum().item() / yt.sum().item()
            precision = ((out > 0) * yt).sum().item() / max(1, (out > 0).sum().item())
            f1 = 2 * recall * precision / max(1e-9, recall + precision)
            monitor.log(val_loss=val, val_recall=recall, val_f1=f1)
    return f1
