"""Transfer learning: the checkpoint's names have a prefix, strict=False loads nothing, and the backbone is frozen."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "transfer"
EXPECTS = ("frozen-untrained", "underfitting", "stalled-loss", "gap-from-start")


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(32 * 16, 12),
            nn.Tanh(),
        )

    def forward(self, x):
        return self.layers(x)


class Model(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone, self.head = Backbone(), nn.Linear(12, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrain(x, y):
    model = Model(10)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(12):
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.cross_entropy(model(x[idx]), y[idx]).backward()
            optimizer.step()
    return {f"module.{name}": value for name, value in model.state_dict().items()}  # it was wrapped when it was saved


def main(watch, faulty):
    data = load_digits()
    x, y = torch.tensor(data.images, dtype=torch.float32)[:, None] / 16, torch.tensor(data.target)
    order = torch.randperm(len(x))
    x, y = x[order], y[order]
    state = pretrain(x[:1200], y[:1200])
    model = Model(10)
    wanted = {name: value for name, value in state.items() if "head" not in name}
    if not faulty:
        wanted = {name.removeprefix("module."): value for name, value in wanted.items()}
    model.load_state_dict(wanted, strict=False)
    for p in model.backbone.parameters():
        p.requires_grad = False

    x, y = x[1200:], y[1200:]  # the new task: few pictures, from a noisier scanner
    x = x + 0.05 * torch.randn_like(x)
    loader = DataLoader(TensorDataset(x[:300], y[:300]), batch_size=20, shuffle=True)
    optimizer = torch.optim.Adam(model.head.parameters(), lr=5e-3)
    monitor = watch(model, optimizer)
    for epoch in range(25):
        for xb, yb in loader:
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
        with torch.no_grad():
            out = model(x[300:])
            acc = (out.argmax(1) == y[300:]).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, y[300:]).item(), val_acc=acc, epoch=epoch)
    monitor.close()
    return acc
