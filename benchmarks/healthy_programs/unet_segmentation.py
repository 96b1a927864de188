"""A tiny U-Net for segmentation: blobs on noise, BCE plus Dice, Dice logged per epoch."""

import torch
import torch.nn.functional as F
from torch import nn


def double_conv(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, padding=1),
        nn.BatchNorm2d(o),
        nn.ReLU(inplace=True),
        nn.Conv2d(o, o, 3, padding=1),
        nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.mid = double_conv(1, 8), double_conv(8, 16), double_conv(16, 16)
        self.up = nn.Upsample(scale_factor=2)
        self.up2, self.up1, self.last = double_conv(32, 8), double_conv(16, 8), nn.Conv2d(8, 1, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        m = self.mid(F.max_pool2d(b, 2))
        x = self.up2(torch.cat([self.up(m), b], 1))
        return self.last(self.up1(torch.cat([self.up(x), a], 1)))


def make(n):
    yy, xx = torch.meshgrid(torch.arange(16), torch.arange(16), indexing="ij")
    c = torch.rand(n, 2) * 10 + 3
    r = torch.rand(n) * 3 + 2
    mask = ((yy - c[:, :1, None]) ** 2 + (xx - c[:, 1:, None]) ** 2 < r[:, None, None] ** 2).float()[:, None]
    return mask + 0.6 * torch.randn(n, 1, 16, 16), mask


def dice(logits, mask):
    p = logits.sigmoid()
    return (2 * (p * mask).sum((1, 2, 3)) + 1) / (p.sum((1, 2, 3)) + mask.sum((1, 2, 3)) + 1)


def main(watch):
    X, M = make(400)
    Xv, Mv = make(80)
    model = UNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for epoch in range(8):
        model.train()
        for i in torch.randperm(400).split(20):
            out = model(X[i])
            loss = F.binary_cross_entropy_with_logits(out, M[i]) + 1 - dice(out, M[i]).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val_dice = dice(model(Xv), Mv).mean().item()
        monitor.log({"val/dice": val_dice, "epoch": epoch})
    monitor.close()
    assert val_dice > 0.8
