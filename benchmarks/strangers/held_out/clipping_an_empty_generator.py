"""The generator of parameters is used up by the optimizer, and the clipping that follows clips nothing."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "gradient clipping"
EXPECTS = ("idle-clipping", "exploding-gradient", "loss-spike", "oversized-update", "dead-units", "loss-at-chance")


class Accumulator(nn.Module):
    """A plain ReLU recurrence: keeps sums well, and has no brake of its own."""

    def __init__(self, width=64):
        super().__init__()
        self.rnn = nn.RNN(2, width, nonlinearity="relu", batch_first=True)
        nn.init.eye_(self.rnn.weight_hh_l0)
        nn.init.normal_(self.rnn.weight_ih_l0, std=0.05)
        nn.init.zeros_(self.rnn.bias_hh_l0)
        nn.init.zeros_(self.rnn.bias_ih_l0)
        self.read = nn.Linear(width, 1)

    def forward(self, x):
        return self.read(self.rnn(x)[0][:, -1]).squeeze(1)


def adding(n, length=20):
    values, marks = torch.rand(n, length) - 0.5, torch.zeros(n, length)
    first = torch.randint(0, length // 2, (n,))
    second = torch.randint(length // 2, length, (n,))
    marks[torch.arange(n), first] = 1
    marks[torch.arange(n), second] = 1
    return torch.stack([values, marks], -1), (values * marks).sum(1)


def main(watch, faulty):
    model = Accumulator()
    parameters = model.parameters() if faulty else list(model.parameters())
    optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
    steps = 1100
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.02, steps)
    xv, yv = adding(500)
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            x, y = adding(50)
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(parameters, 0.5)
            optimizer.step()
            scheduler.step()
            if step % 55 == 54:
                with torch.no_grad():
                    val = F.mse_loss(model(xv), yv).item()
                monitor.log(val_mse=val)
    return -val if val == val and val < 1e6 else -1e6
