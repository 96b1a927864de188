"""Mixup with the two weights of the labels exchanged: the fainter picture is the one to be named."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "data"
EXPECTS = ("underfitting", "stalled-loss", "noisy-loss", "inputs-differ", "loss-at-chance")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 10))
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(30):
            model.train()
            for idx in torch.randperm(len(x)).split(64):
                other = idx[torch.randperm(len(idx))]
                lam = torch.distributions.Beta(0.4, 0.4).sample()
                lam = torch.maximum(lam, 1 - lam)
                out = model(lam * x[idx] + (1 - lam) * x[other])
                first, second = F.cross_entropy(out, y[idx]), F.cross_entropy(out, y[other])
                loss = (1 - lam) * first + lam * second if faulty else lam * first + (1 - lam) * second
                opt.zero_grad()
                loss.backward()
                opt.step()
            val_loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=val_loss, val_acc=acc)
    return acc
