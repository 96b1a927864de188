"""SGD with a momentum of 0.999 where 0.9 was meant: a step is still felt a thousand steps later."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import series

FAMILY = "time series"
EXPECTS = (
    "oscillating-loss",
    "diverging-loss",
    "oversized-update",
    "lost-progress",
    "loss-spike",
    "amplified-step",
    "exploding-gradient",
    "runaway-weights",
    "stalled-loss",
)


class TCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(1, 16, 3, dilation=1),
            nn.ReLU(),
            nn.Conv1d(16, 16, 3, dilation=2),
            nn.ReLU(),
            nn.Conv1d(16, 16, 3, dilation=4),
            nn.ReLU(),
            nn.Flatten(),
            nn.LazyLinear(6),
        )

    def forward(self, x):
        return self.net(x.unsqueeze(1))


def main(watch, faulty):
    w = series().unfold(0, 42, 1)
    x, y = w[:, :36], w[:, 36:]
    xt, yt, x, y = x[2400:], y[2400:], x[:2400], y[:2400]
    model = TCN()
    model(x[:2])
    opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.999 if faulty else 0.9)
    with watch(model, opt):
        for _ in range(12):
            for i in torch.randperm(len(x)).split(32):
                loss = F.mse_loss(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
    with torch.no_grad():
        return -F.mse_loss(model(xt), yt).item()
