"""A one-stage detector on a grid: the box loss is averaged over all cells, and a cell without an object has the box
(0, 0, 0, 0), so the boxes shrink to nothing."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "detection"
EXPECTS = ("padded-targets", "underfitting", "stalled-loss", "collapsed-activations")
GRID, SIZE = 6, 24


def scenes(n):
    images = 0.1 * torch.randn(n, 1, SIZE, SIZE)
    there, boxes = torch.zeros(n, GRID, GRID), torch.zeros(n, 4, GRID, GRID)
    cell = SIZE // GRID
    for k in range(n):
        for _ in range(int(torch.randint(1, 3, (1,)))):
            h, w = (int(v) for v in torch.randint(3, 9, (2,)))
            top, left = int(torch.randint(0, SIZE - h, (1,))), int(torch.randint(0, SIZE - w, (1,)))
            images[k, 0, top : top + h, left : left + w] += 0.8
            cy, cx = top + h / 2, left + w / 2
            i, j = int(cy // cell), int(cx // cell)
            there[k, i, j] = 1
            boxes[k, :, i, j] = torch.tensor([cy / cell - i, cx / cell - j, h / SIZE * 3, w / SIZE * 3])
    return images, there, boxes


class Detector(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1),
            nn.BatchNorm2d(c),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, padding=1),
            nn.BatchNorm2d(2 * c),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(2 * c, 2 * c, 3, padding=1),
            nn.BatchNorm2d(2 * c),
            nn.ReLU(),
        )
        self.objectness, self.box = nn.Conv2d(2 * c, 1, 1), nn.Conv2d(2 * c, 4, 1)

    def forward(self, x):
        h = self.body(x)
        return self.objectness(h).squeeze(1), self.box(h)


def main(watch, faulty):
    train = TensorDataset(*scenes(700))
    xv, tv, bv = scenes(150)
    loader = DataLoader(train, batch_size=32, shuffle=True)
    model = Detector()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def losses(images, there, boxes):
        score, box = model(images)
        objectness = F.binary_cross_entropy_with_logits(score, there)
        off = F.smooth_l1_loss(box, boxes, reduction="none").sum(1)
        regression = off.mean() if faulty else (off * there).sum() / there.sum().clamp(min=1)
        return objectness + regression, box

    with watch(model, optimizer) as monitor:
        for epoch in range(14):
            model.train()
            for batch in loader:
                loss, _ = losses(*batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                val_loss, box = losses(xv, tv, bv)
                off = ((box - bv).abs().mean(1) * tv).sum() / tv.sum()
            monitor.log(val_loss=val_loss.item(), box_error=off.item(), epoch=epoch)
    return -off.item()
