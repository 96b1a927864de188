"""A GRU classifier that takes the output of the first time step: written for (time, batch), used with batch_first, and
the index was put on the other axis."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recurrent"
EXPECTS = (
    "loss-at-chance",
    "stuck-from-start",
    "underfitting",
    "stalled-loss",
    "nothing-generalises",
    "silent-parameter",
)


def gestures(n, length=24):
    """Three channels of a sensor; the class is how the movement goes on after a common beginning."""
    y = torch.randint(0, 5, (n,))
    t = torch.arange(length) / length
    speed = torch.tensor([2.0, 4.0, 6.0, 2.0, 4.0])[y][:, None] * (1 + 0.05 * torch.randn(n, 1))
    sign = torch.where(y >= 3, -1.0, 1.0)[:, None]
    x = torch.stack([torch.sin(speed * t * 3), sign * torch.cos(speed * t * 3) - sign, speed.sqrt() * t], 2)
    return x + 0.15 * torch.randn_like(x), y


class Classifier(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.gru, self.head, self.faulty = nn.GRU(3, 48, batch_first=True), nn.Linear(48, 5), faulty

    def forward(self, x):
        out, _ = self.gru(x)
        return self.head(out[:, 0] if self.faulty else out[:, -1])


def main(watch, faulty):
    x, y = gestures(2000)
    xt, yt = gestures(500)
    model = Classifier(faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)
    for _ in range(15):
        model.train()
        for idx in torch.randperm(2000).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xt)
        acc = (out.argmax(1) == yt).float().mean().item()
        monitor.log(val_loss=F.cross_entropy(out, yt).item(), val_acc=acc)
    monitor.close()
    return acc
