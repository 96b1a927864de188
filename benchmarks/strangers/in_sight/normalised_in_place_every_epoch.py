"""get_batch returns a slice of the data and normalises it in place: in the second epoch what was normalised before is
normalised again, and so on."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "data pipeline"
EXPECTS = (
    "extreme-input",
    "inputs-differ",
    "gap-from-start",
    "diverging-loss",
    "loss-spike",
    "epoch-boundary-jump",
    "overfitting",
    "nothing-generalises",
    "worsening-metric",
)


def plates(count):
    """Small pictures of bars: how many, at any place and of any brightness."""
    y = torch.randint(1, 6, (count,))
    x = 0.3 + 0.05 * torch.randn(count, 1, 12, 12)
    for picture, bars in zip(x, y.tolist(), strict=True):
        for at in torch.randperm(6)[:bars] * 2:
            picture[0, :, at] += 0.2 + 0.3 * torch.rand(())
    return x, y - 1


class Data:
    def __init__(self, x, y, mean, std, copy):
        self.x, self.y, self.mean, self.std, self.copy = x, y, mean, std, copy

    def get_batch(self, i, size):
        x = self.x[i : i + size]
        if self.copy:
            x = x.clone()
        return x.sub_(self.mean).div_(self.std), self.y[i : i + size]

    def __len__(self):
        return len(self.y)


def main(watch, faulty):
    x, y = plates(1500)
    mean, std = x.mean().item(), x.std().item()
    data = Data(x, y, mean, std, copy=not faulty)
    x_val, y_val = plates(400)
    x_val = (x_val - mean) / std
    model = nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d((2, 1)),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d((2, 1)),
        nn.Flatten(),
        nn.Linear(16 * 36, 5),
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(8):
            for i in range(0, len(data), 32):
                inputs, labels = data.get_batch(i, 32)
                optimizer.zero_grad()
                loss = F.cross_entropy(model(inputs), labels)
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                out = model(x_val)
            monitor.log(
                val_loss=F.cross_entropy(out, y_val).item(), val_acc=(out.argmax(1) == y_val).float().mean().item()
            )
    x, y = plates(1500)
    with torch.no_grad():
        return (model((x - mean) / std).argmax(1) == y).float().mean().item()
