"""Noise of ten grey levels is added as augmentation, but the pictures are already between 0 and 1."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

from strangers.common import digits

FAMILY = "augmentation"
EXPECTS = ("inputs-differ", "underfitting", "extreme-input", "loss-at-chance", "stalled-loss")


class AddGaussianNoise:
    def __init__(self, mean=0.0, std=10.0):
        self.mean, self.std = mean, std

    def __call__(self, tensor):
        return tensor + torch.randn(tensor.size()) * self.std + self.mean


class Digits(Dataset):
    def __init__(self, x, y, transform=None):
        self.x, self.y, self.transform = x, y, transform

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        if self.transform:
            x = self.transform(x)
        return (x - 0.305) / 0.376, self.y[i]


def conv(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU())


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    noise = AddGaussianNoise(std=10.0 if faulty else 10.0 / 255)
    train_loader = DataLoader(Digits(x, y, noise), batch_size=32, shuffle=True, drop_last=True)
    val_loader = DataLoader(Digits(xt, yt), batch_size=128)
    model = nn.Sequential(
        conv(1, 16), nn.MaxPool2d(2), conv(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True, weight_decay=5e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    criterion = nn.CrossEntropyLoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            model.train()
            for images, labels in train_loader:
                optimizer.zero_grad()
                loss = criterion(model(images), labels)
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            with torch.no_grad():
                val_loss, correct = 0.0, 0
                for images, labels in val_loader:
                    out = model(images)
                    val_loss += criterion(out, labels).item() * len(labels)
                    correct += (out.argmax(1) == labels).sum().item()
            monitor.log(epoch=epoch, val_loss=val_loss / len(xt), val_acc=correct / len(xt))
    return correct / len(xt)
