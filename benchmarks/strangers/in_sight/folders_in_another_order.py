"""The test folder was listed on its own, in another order, so that the same class has another number there."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "data"
EXPECTS = ("nothing-generalises", "gap-from-start", "overfitting", "metric-loss-disagreement", "loss-without-accuracy")
NAMES = ["ten", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def encode(names, order):
    lookup = {name: i for i, name in enumerate(order)}
    return torch.tensor([lookup[name] for name in names])


def main(watch, faulty):
    x, y, xt, yt = digits()
    train_names, test_names = [NAMES[c] for c in y], [NAMES[c] for c in yt]
    classes = sorted(set(train_names))
    y = encode(train_names, classes)
    yt = encode(test_names, list(dict.fromkeys(test_names)) if faulty else classes)
    model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(25):
            model.train()
            for idx in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[idx]), y[idx])
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(1) == yt).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_accuracy=acc)
    return acc
