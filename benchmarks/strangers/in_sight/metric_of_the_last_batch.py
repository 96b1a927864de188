"""The validation loop overwrites loss and accuracy at every batch: what is logged is the last one, of nine samples."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "evaluation"
EXPECTS = ("misread-validation", "erratic-validation")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.5), nn.Linear(256, 10)
    )
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    logged = []
    with watch(net, opt) as monitor:
        for _ in range(30):
            net.train()
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(net(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            net.eval()
            total, right, seen = 0.0, 0, 0
            with torch.no_grad():
                for i in torch.randperm(len(xt))[:393].split(64):
                    out = net(xt[i])
                    if faulty:
                        total, right, seen = 0.0, 0, 0
                    total += F.cross_entropy(out, yt[i], reduction="sum").item()
                    right += (out.argmax(1) == yt[i]).sum().item()
                    seen += len(i)
            monitor.log(val_loss=total / seen, val_acc=right / seen)
            logged.append(total / seen)
    late = torch.tensor(logged[15:])
    return -(late.diff().abs().mean() / late.mean()).item()
