"""The target is scaled to 0..1 first and compared with the threshold in the old unit afterwards: no example is
positive any more."""

import torch
import torch.nn.functional as F
from sklearn.datasets import make_friedman1
from torch import nn

FAMILY = "labels"
EXPECTS = ("lopsided-labels", "suspiciously-perfect", "collapsed-activations")


def prepare(faulty, limit=14.0):
    x, strength = make_friedman1(4000, 10, noise=0.8)
    x = torch.tensor((x - x.mean(0)) / x.std(0), dtype=torch.float32)
    strength = torch.tensor(strength, dtype=torch.float32)
    truth = (strength > limit).float()
    if faulty:
        strength = (strength - strength.min()) / (strength.max() - strength.min())
    label = (strength > limit).float()
    return (x[:3200], label[:3200]), (x[3200:], label[3200:]), truth[3200:]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU())
        self.head = nn.Linear(48, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def main(watch, faulty):
    (x, y), (xv, yv), truth = prepare(faulty)
    model = Classifier()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.02)
    epochs = 12
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs * 50)
    with watch(model, opt) as monitor:
        for epoch in range(epochs):
            for idx in torch.randperm(len(x)).split(64):
                loss = F.binary_cross_entropy_with_logits(model(x[idx]), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
                cosine.step()
            with torch.no_grad():
                logit = model(xv)
                val_loss = F.binary_cross_entropy_with_logits(logit, yv).item()
                val_acc = ((logit > 0) == (yv > 0.5)).float().mean().item()
            monitor.log(epoch=epoch, val_loss=val_loss, val_accuracy=val_acc)
    hit = (logit > 0).float()
    recall = [hit[truth == 1].mean().item(), 1 - hit[truth == 0].mean().item()]
    return sum(recall) / 2
