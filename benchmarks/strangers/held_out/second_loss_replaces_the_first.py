"""Two heads, and the second loss is assigned where it should be added: the first head is never trained."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "multi-task"
EXPECTS = ("silent-parameter", "loss-without-accuracy", "uncovered-parameter", "nothing-generalises")


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 64), nn.ReLU())
        self.digit, self.ink = nn.Linear(64, 10), nn.Linear(64, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.digit(h), self.ink(h).squeeze(1)


def main(watch, faulty):
    x, y, xt, yt = digits()
    mean, std = x.sum(1).mean(), x.sum(1).std()
    model = TwoHeads()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(15):
            for idx in torch.randperm(len(x)).split(64):
                classes, ink = model(x[idx])
                loss = F.cross_entropy(classes, y[idx])
                if faulty:
                    loss = F.mse_loss(ink, (x[idx].sum(1) - mean) / std)
                else:
                    loss = loss + F.mse_loss(ink, (x[idx].sum(1) - mean) / std)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                classes, ink = model(xt)
            acc = (classes.argmax(1) == yt).float().mean().item()
            monitor.log(val_ink_mse=F.mse_loss(ink, (xt.sum(1) - mean) / std).item(), val_digit_accuracy=acc)
    return acc
