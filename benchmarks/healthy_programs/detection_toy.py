"""A one-stage detector on pictures with one bright square: objectness, class and box, three losses added up."""

import torch
import torch.nn.functional as F
from torch import nn


def make(n):
    images, boxes, labels = torch.rand(n, 1, 32, 32) * 0.2, torch.zeros(n, 4), torch.randint(2, (n,))
    for k in range(n):
        size = int(torch.randint(6, 13, ()))
        x, y = (int(v) for v in torch.randint(0, 32 - size, (2,)))
        images[k, 0, y : y + size, x : x + size] += 0.8
        if labels[k]:
            images[k, 0, y + 2 : y + size - 2, x + 2 : x + size - 2] -= 0.8
        boxes[k] = torch.tensor([x + size / 2, y + size / 2, size, size]) / 32
    return images, boxes, labels


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [], 1
        for wider in (16, 32, 64):
            layers += [nn.Conv2d(width, wider, 3, 2, 1), nn.BatchNorm2d(wider), nn.LeakyReLU(0.1)]
            width = wider
        self.backbone = nn.Sequential(*layers)
        self.head = nn.Conv2d(64, 1 + 4 + 2, 1)  # per cell: objectness, box, two classes

    def forward(self, x):
        return self.head(self.backbone(x)).permute(0, 2, 3, 1)  # N, 4, 4, 7


def criterion(out, boxes, labels):
    cell = (boxes[:, :2] * 4).long().clamp(max=3)
    rows = torch.arange(len(out))
    target = torch.zeros(out.shape[:3])
    target[rows, cell[:, 1], cell[:, 0]] = 1
    mine = out[rows, cell[:, 1], cell[:, 0]]
    offset = boxes[:, :2] * 4 - cell
    box = F.smooth_l1_loss(mine[:, 1:3].sigmoid(), offset) + F.smooth_l1_loss(mine[:, 3:5], boxes[:, 2:].log())
    return F.binary_cross_entropy_with_logits(out[..., 0], target) + 5 * box + F.cross_entropy(mine[:, 5:], labels)


def main(watch):
    images, boxes, labels = make(1500)
    model = Detector()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 11], 0.1)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for i in torch.randperm(1300).split(32):
            loss = criterion(model(images[i]), boxes[i], labels[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            out = model(images[1300:])
            val = criterion(out, boxes[1300:], labels[1300:]).item()
            best = out[..., 0].flatten(1).argmax(1)
            found = out.flatten(1, 2)[torch.arange(200), best]
            accuracy = (found[:, 5:].argmax(1) == labels[1300:]).float().mean().item()
        monitor.log(val_loss=val, class_accuracy=accuracy, epoch=epoch)
    monitor.close()
    assert accuracy > 0.85
