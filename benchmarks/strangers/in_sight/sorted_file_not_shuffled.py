"""The file is sorted by class and the loader does not shuffle: the net learns one class after the other."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ("lopsided-labels", "repeated-batches", "oscillating-loss", "epoch-boundary-jump", "erratic-validation",
           "nothing-generalises", "gap-from-start")  # fmt: skip


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(12, 24, 3, padding=1), nn.ReLU()
        )
        self.fc = nn.Linear(24 * 16, 10)

    def forward(self, x):
        return self.fc(self.conv(x).flatten(1))


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y, xv, yv = x[order[:1400]], y[order[:1400]], x[order[1400:]], y[order[1400:]]
    by_folder = y.argsort(stable=True)  # as files lie in their folders
    loader = DataLoader(TensorDataset(x[by_folder], y[by_folder]), batch_size=32, shuffle=not faulty)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    monitor = watch(model, optimizer)
    for epoch in range(10):
        model.train()
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
