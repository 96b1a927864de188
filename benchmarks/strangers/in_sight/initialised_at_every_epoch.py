"""model.apply(init_weights) stands inside the epoch loop: every epoch begins from new random weights."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "loop"
EXPECTS = ("weight-jump", "epoch-boundary-jump", "loss-spike", "lost-progress", "stalled-loss", "underfitting",
           "oscillating-loss")  # fmt: skip


def init_weights(module):
    if isinstance(module, (nn.Linear, nn.Conv2d)):
        nn.init.kaiming_normal_(module.weight)
        nn.init.zeros_(module.bias)


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    net = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, 2),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(288, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    net.apply(init_weights)
    opt = torch.optim.Adam(net.parameters(), lr=3e-4)
    with watch(net, opt) as monitor:
        for _ in range(15):
            if faulty:
                net.apply(init_weights)
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(net(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(net, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
