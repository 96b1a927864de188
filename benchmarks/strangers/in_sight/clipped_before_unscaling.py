"""clip_grad_norm_ before scaler.unscale_: gradients that are 65,536 times too large are clipped to one."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "precision"
EXPECTS = ("clipping-scaled-gradients", "undersized-update", "gradient-always-clipped")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu")
    with watch(model, optimizer) as monitor:
        for _ in range(10):
            for i in torch.randperm(len(x)).split(64):
                with torch.autocast("cpu", dtype=torch.float16):
                    loss = F.cross_entropy(model(x[i]), y[i])
                optimizer.zero_grad()
                scaler.scale(loss).backward()
                if not faulty:
                    scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
