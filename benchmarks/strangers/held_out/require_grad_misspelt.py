"""The body was to be frozen for a small new task, but the attribute is called requires_grad: 'require_grad = False'
changes nothing, and the head's large rate wrecks the pretrained features."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "fine-tuning"
EXPECTS = ("oversized-update", "dead-units", "collapsed-activations", "loss-at-chance", "stalled-loss", "overfitting")


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 48, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(48 * 16, 64),
            nn.ReLU(),
        )
        self.head = nn.Linear(64, classes)

    def forward(self, x):
        return self.head(self.body(x))


def pretrain(net, x, y):
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    for _ in range(6):
        for idx in torch.randperm(len(x)).split(50):
            opt.zero_grad()
            F.cross_entropy(net(x[idx]), y[idx]).backward()
            opt.step()


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    x, xt = (x - 0.305) / 0.376, (xt - 0.305) / 0.376
    net = Net(10)
    pretrain(net, x[300:], y[300:])

    # the new task groups the digits by type of stroke, and only two hundred are labelled
    kind = torch.tensor([0, 1, 2, 0, 1, 2, 0, 1, 2, 3])
    x, y, yt = x[:200], kind[y[:200]], kind[yt]
    for p in net.body.parameters():
        if faulty:
            p.require_grad = False
        else:
            p.requires_grad = False
    net.head = nn.Linear(64, 4)
    optimizer = torch.optim.Adam([p for p in net.parameters() if p.requires_grad], lr=0.03, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 40)
    with watch(net, optimizer) as monitor:
        for epoch in range(40):
            for idx in torch.randperm(len(x)).split(20):
                optimizer.zero_grad()
                loss = F.cross_entropy(net(x[idx]), y[idx])
                loss.backward()
                optimizer.step()
            scheduler.step()
            if epoch % 2:
                val_loss, val_acc = accuracy(net, xt, yt)
                monitor.log(epoch=epoch, val_loss=val_loss, val_acc=val_acc)
    return -val_loss
