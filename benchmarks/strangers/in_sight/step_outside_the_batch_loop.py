"""optimizer.step() slipped out of the batch loop by one indentation: one step per epoch, from its last batch."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loop"
EXPECTS = ("never-stepped", "undersized-update", "stuck-from-start", "loss-at-chance", "underfitting",
           "unscaled-accumulation")  # fmt: skip


def main(watch, faulty):
    x, y, xt, yt = digits()
    net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, 10))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3)
    with watch(net, opt) as monitor:
        for _ in range(25):
            net.train()
            for i in torch.randperm(len(x)).split(32):
                opt.zero_grad()
                F.cross_entropy(net(x[i]), y[i]).backward()
                if not faulty:
                    opt.step()
            if faulty:
                opt.step()
            val, acc = accuracy(net, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
