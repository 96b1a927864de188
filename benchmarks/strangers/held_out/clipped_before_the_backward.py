"""clip_grad_norm_ stands between zero_grad and backward: there is nothing to clip there, and what comes after goes into
the step as it is."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "loop"
EXPECTS = (
    "exploding-gradient",
    "loss-spike",
    "diverging-loss",
    "nonfinite-loss",
    "weight-jump",
    "bad-batch",
    "oversized-update",
    "idle-clipping",
    "oscillating-loss",
    "runaway-weights",
    "dead-units",
    "dead-layer",
    "collapsed-activations",
)


class RNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(2, 48, nonlinearity="relu", batch_first=True)
        nn.init.eye_(self.rnn.weight_hh_l0)
        self.out = nn.Linear(48, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1]).squeeze(-1)


def adding(count, length=12):
    """The sum of the two numbers that are marked."""
    values = torch.rand(count, length)
    marks = torch.zeros(count, length)
    first, second = torch.randint(0, length // 2, (count,)), torch.randint(length // 2, length, (count,))
    marks[torch.arange(count), first] = 1
    marks[torch.arange(count), second] = 1
    return torch.stack([values, marks], 2), (values * marks).sum(1)


def main(watch, faulty):
    model = RNN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    xv, yv = adding(500)
    with watch(model, optimizer) as monitor:
        for step in range(700):
            x, y = adding(64)
            optimizer.zero_grad()
            if faulty:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            loss = F.mse_loss(model(x), y)
            loss.backward()
            if not faulty:
                nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            if step % 50 == 49:
                with torch.no_grad():
                    monitor.log(step=step, val_loss=F.mse_loss(model(xv), yv).item())
    x, y = adding(2000)
    with torch.no_grad():
        score = 1 - (F.mse_loss(model(x), y) / y.var()).item()
    return score if score > -10 else -10.0
