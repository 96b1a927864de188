"""Every layer has spectral norm one: logits stay small, the loss stays high, and the accuracy is good."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from strangers.common import accuracy, digits


def lipschitz_net():
    return nn.Sequential(
        spectral_norm(nn.Linear(64, 128)),
        nn.LeakyReLU(0.2),
        spectral_norm(nn.Linear(128, 128)),
        nn.LeakyReLU(0.2),
        spectral_norm(nn.Linear(128, 10)),
    )


def main(watch):
    x, y, xv, yv = digits()
    mean = x.mean(0)
    x, xv = x - mean, xv - mean
    net = lipschitz_net()
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 25)
    with watch(net, optimizer) as monitor:
        for epoch in range(25):
            net.train()
            for rows in torch.randperm(len(x)).split(50):
                optimizer.zero_grad()
                F.multi_margin_loss(net(x[rows]), y[rows], margin=0.7).backward()
                optimizer.step()
            schedule.step()
            _, acc = accuracy(net, xv, yv)
            with torch.no_grad():
                loss = F.multi_margin_loss(net.eval()(xv), yv, margin=0.7).item()
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    assert acc > 0.85, acc
