"""zero_grad was lost in a refactoring of an LSTM classifier."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = ("accumulating-gradient", "exploding-gradient", "oscillating-loss", "diverging-loss")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.fc = nn.LSTM(3, 24, batch_first=True), nn.Linear(24, 3)

    def forward(self, x):
        return self.fc(self.lstm(x)[1][0][-1])


def make(n):
    y = torch.randint(0, 3, (n,))
    phase = torch.rand(n, 1) * 6
    t = torch.linspace(0, 6, 20)[None] * (y[:, None] + 1) + phase
    return torch.stack([t.sin(), t.cos(), torch.randn(n, 20)], -1) + 0.3 * torch.randn(n, 20, 3), y


def main(watch, faulty):
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    xv, yv = make(300)
    monitor = watch(model, optimizer)
    for step in range(400):
        x, y = make(64)
        if not faulty:
            optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if step % 40 == 39:
            with torch.no_grad():
                out = model(xv)
            acc = (out.argmax(1) == yv).float().mean().item()
            monitor.log(val_loss=F.cross_entropy(out, yv).item(), val_acc=acc)
    monitor.close()
    return acc
