"""Averaged weights for validation: the backup of the live weights is not a copy, so restoring it does nothing and
every epoch goes on from the lagging average."""

import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "image"
EXPECTS = ("weight-jump", "epoch-boundary-jump", "lost-progress", "undersized-update", "stalled-loss")


class EMA:
    def __init__(self, model, decay, clone):
        self.decay, self.clone = decay, clone
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.backup = {}

    @torch.no_grad()
    def update(self, model):
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.shadow[k].mul_(self.decay).add_(v, alpha=1 - self.decay)

    def store(self, model):
        state = model.state_dict()
        self.backup = {k: v.clone() for k, v in state.items()} if self.clone else state

    def copy_to(self, model):
        model.load_state_dict(self.shadow)

    def restore(self, model):
        model.load_state_dict(self.backup)


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def main(watch, faulty):
    x, y = load_digits(return_X_y=True)
    x = (x / 16.0).astype(np.float32).reshape(-1, 1, 8, 8)
    xt, xv, yt, yv = train_test_split(torch.tensor(x), torch.tensor(y), test_size=0.2, random_state=0)
    loader = DataLoader(TensorDataset(xt, yt), batch_size=64, shuffle=True)
    model = ConvNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    ema = EMA(model, decay=0.997, clone=not faulty)
    monitor = watch(model, optimizer)
    for epoch in range(30):
        model.train()
        for images, labels in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            ema.update(model)
        ema.store(model)
        ema.copy_to(model)
        model.eval()
        with torch.no_grad():
            out = model(xv)
            val_loss, acc = F.cross_entropy(out, yv).item(), (out.argmax(1) == yv).float().mean().item()
        ema.restore(model)
        monitor.log(val_loss=val_loss, val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
