"""The dataset divides the pixels by 255, and so does the transform in front of the model: the net sees nearly
nothing."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "image"
EXPECTS = ("stuck-from-start", "loss-at-chance", "undersized-update", "unnormalised-input", "stalled-loss")


class Pictures(Dataset):
    def __init__(self, images, labels, transform):
        self.images, self.labels, self.transform = images, labels, transform

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        return self.transform(self.images[i].float() / 255), self.labels[i]


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.c2 = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.f1, self.f2 = nn.Linear(64, 48), nn.Linear(48, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.c1(x)), 2)
        x = F.max_pool2d(F.relu(self.c2(x)), 2)
        return self.f2(F.relu(self.f1(x.flatten(1))))


def main(watch, faulty):
    data = load_digits()
    images = (torch.tensor(data.images) * 255 / 16).to(torch.uint8)[:, None]
    labels = torch.tensor(data.target)
    order = torch.randperm(len(images))
    transform = (lambda x: x / 255) if faulty else (lambda x: (x - 0.3) / 0.35)
    train = Pictures(images[order[:1400]], labels[order[:1400]], transform)
    val = Pictures(images[order[1400:]], labels[order[1400:]], transform)
    loader, val_loader = DataLoader(train, batch_size=64, shuffle=True), DataLoader(val, batch_size=397)
    model = LeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            model.train()
            for xb, yb in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(xb), yb).backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                for xb, yb in val_loader:
                    out = model(xb)
                    acc = (out.argmax(1) == yb).float().mean().item()
                    monitor.log(val_loss=F.cross_entropy(out, yb).item(), val_acc=acc, epoch=epoch)
    return acc
