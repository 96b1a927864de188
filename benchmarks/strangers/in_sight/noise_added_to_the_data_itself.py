"""Noise as augmentation, added with += to what the data set returns, which is the data: it piles up from epoch to epoch
until there is nothing else."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "time series"
EXPECTS = (
    "inputs-differ",
    "diverging-loss",
    "lost-progress",
    "overfitting",
    "validation-below-training",
    "stalled-loss",
)


def gestures(count, kinds=6, length=30):
    """Three accelerations of a hand, in one of six movements."""
    y = torch.randint(0, kinds, (count,))
    t = torch.linspace(0, 1, length)
    rate = (1 + y % 3)[:, None] * (0.9 + 0.2 * torch.rand(count, 1))
    phase = 0.5 * torch.rand(count, 1)
    turn = torch.where(y < 3, 1.0, -1.0)[:, None]
    angle = 6.2832 * (rate * t + phase)
    return torch.stack([angle.sin(), turn * angle.cos(), 0.3 * t.expand(count, -1)], 2) + 0.3 * torch.randn(
        count, length, 3
    ), y


class Gestures(Dataset):
    def __init__(self, x, y, noise, faulty):
        self.x, self.y, self.noise, self.faulty = x, y, noise, faulty

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        x = self.x[i]
        noise = self.noise * torch.randn_like(x)
        if self.faulty:
            x += noise
        else:
            x = x + noise
        return x, self.y[i]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 32, batch_first=True)
        self.out = nn.Linear(32, 6)

    def forward(self, x):
        return self.out(self.lstm(x)[0].mean(1))


def main(watch, faulty):
    loader = DataLoader(Gestures(*gestures(800), noise=0.8, faulty=faulty), batch_size=32, shuffle=True)
    xv, yv = gestures(300)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(20):
            model.train()
            for x, y in loader:
                loss = F.cross_entropy(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                out = model(xv)
            monitor.log(
                epoch=epoch,
                val_loss=F.cross_entropy(out, yv).item(),
                val_acc=(out.argmax(1) == yv).float().mean().item(),
            )
    x, y = gestures(1500)
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()
