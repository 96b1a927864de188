"""BatchNorm without running statistics (track_running_stats=False) and a validation folder sorted by class: every
test batch is normalised by the pictures of one class."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import digits

FAMILY = "normalisation layer"
EXPECTS = ("mixed-samples", "gap-from-start", "nothing-generalises", "inputs-differ")


class ConvBlock(nn.Module):
    def __init__(self, cin, cout, track):
        super().__init__()
        self.conv = nn.Conv2d(cin, cout, 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(cout, track_running_stats=track)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)))


class Net(nn.Module):
    def __init__(self, track=True):
        super().__init__()
        self.body = nn.Sequential(
            ConvBlock(1, 12, track),
            nn.MaxPool2d(2),
            ConvBlock(12, 24, track),
            ConvBlock(24, 24, track),
            nn.AdaptiveAvgPool2d(1),
        )
        self.fc = nn.Linear(24, 10)

    def forward(self, x):
        return self.fc(self.body(x).flatten(1))


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    by_class = torch.argsort(yt, stable=True)  # as ImageFolder lists them
    train = DataLoader(TensorDataset(x * 2 - 0.6, y), batch_size=64, shuffle=True, drop_last=True)
    val = DataLoader(TensorDataset(xt[by_class] * 2 - 0.6, yt[by_class]), batch_size=32)
    model = Net(track=not faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            model.train()
            for images, labels in train:
                optimizer.zero_grad()
                loss = F.cross_entropy(model(images), labels)
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            with torch.no_grad():
                outs = torch.cat([model(images) for images, _ in val])
            labels = yt[by_class]
            acc = (outs.argmax(1) == labels).float().mean().item()
            monitor.log(epoch=epoch, val_loss=F.cross_entropy(outs, labels).item(), val_acc=acc)
    return acc
