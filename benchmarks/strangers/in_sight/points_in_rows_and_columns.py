"""Key points: the training annotations are (x, y), the validation file lists (row, column); the error of the
validation is that of a mirrored answer."""

import torch
import torch.nn as nn
import torch.nn.functional as F

FAMILY = "key points"
EXPECTS = ("misread-validation", "nothing-generalises", "gap-from-start")


def pictures(n, size=14):
    """A bright spot on a noisy ground, somewhere, and a dimmer one that does not count."""
    grid = torch.arange(size).float()

    def spot(p, width):
        gx = torch.exp(-((grid - p[:, :1]) ** 2) / width)
        gy = torch.exp(-((grid - p[:, 1:]) ** 2) / width)
        return gy[:, :, None] * gx[:, None, :]

    p = 1 + torch.rand(n, 2) * (size - 3)
    q = 1 + torch.rand(n, 2) * (size - 3)
    img = 1.5 * spot(p, 4.0) + 0.4 * spot(q, 3.0) + 0.1 * torch.randn(n, size, size)
    return (img[:, None] - 0.2) / 0.35, (p / (size - 1) - 0.5) * 2


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 16, 3, padding=1), nn.ReLU()
        )
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(16 * 49, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.fc(self.conv(x))


def main(watch, faulty):
    x, p = pictures(3000)
    xv, pv = pictures(400)
    if faulty:
        pv = pv.flip(1)
    net = PointNet()
    optim = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
    epochs = 9
    sched = torch.optim.lr_scheduler.OneCycleLR(optim, 3e-3, total_steps=epochs * 60)
    with watch(net, optim) as monitor:
        for epoch in range(epochs):
            net.train()
            train_loss = 0.0
            for idx in torch.randperm(3000).split(50):
                optim.zero_grad()
                loss = F.mse_loss(net(x[idx]), p[idx])
                loss.backward()
                optim.step()
                sched.step()
                train_loss += loss.item() / 60
            net.eval()
            with torch.no_grad():
                out = net(xv)
                val_loss = F.mse_loss(out, pv).item()
                near = ((out - pv).norm(dim=1) < 0.2).float().mean().item()
            monitor.log(epoch=epoch, train_loss=train_loss, val_loss=val_loss, val_pck=near)
    return near
