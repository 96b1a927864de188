"""Pictures grow from 8 to 16 to 24 pixels during the training, and the batches shrink with them."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn


def drawings(n):
    """Discs, rings, squares and crosses of different place and size, 24 by 24."""
    yy, xx = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    kind = torch.randint(0, 4, (n,))
    cx, cy, r = (7 + 10 * torch.rand(n) for _ in range(3))
    r = 4 + r / 8
    dx, dy = xx - cx[:, None, None], yy - cy[:, None, None]
    r = r[:, None, None]
    dist = (dx**2 + dy**2).sqrt()
    shapes = torch.stack(
        [
            dist < r,
            (dist < r) & (dist > r - 2),
            (dx.abs() < r * 0.9) & (dy.abs() < r * 0.9),
            ((dx.abs() < 1.5) | (dy.abs() < 1.5)) & (dist < r),
        ],
        1,
    )
    x = shapes[torch.arange(n), kind].float()
    return (x + 0.2 * torch.randn_like(x))[:, None] - 0.2, kind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [1, 16, 32, 32]
        self.convs = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1) for a, b in itertools.pairwise(sizes))
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for b in sizes[1:])
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        for k, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=False)):
            x = F.relu(norm(conv(x)))
            if k < 2:
                x = F.max_pool2d(x, 2)
        return self.fc(x.amax((2, 3)))


def main(watch):
    x, y = drawings(1500)
    xv, yv = drawings(300)
    net = Net()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)
    stages = [(8, 64, 4), (16, 48, 4), (24, 32, 3)]
    total = sum(epochs * -(-len(x) // batch) for _, batch, epochs in stages)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1, s / 20) * max(0.0, 1 - s / total))
    with watch(net, optimizer) as monitor:
        for size, batch, epochs in stages:
            small = F.interpolate(x, size=(size, size), mode="area")
            for _ in range(epochs):
                net.train()
                for rows in torch.randperm(len(x)).split(batch):
                    loss = F.cross_entropy(net(small[rows]), y[rows])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    schedule.step()
                net.eval()
                with torch.no_grad():
                    out = net(F.interpolate(xv, size=(size, size), mode="area"))
                acc = (out.argmax(1) == yv).float().mean().item()
                monitor.log(size=size, val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    assert acc > 0.9, acc
