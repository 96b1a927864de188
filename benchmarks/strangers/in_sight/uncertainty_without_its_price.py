"""Two tasks weighted by learned uncertainties, without the term that makes uncertainty cost: both are given up."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "multi-task"
EXPECTS = ("runaway-weights", "loss-without-accuracy", "suspiciously-perfect", "unbalanced-loss-parts", "stalled-loss")


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.number, self.kind = nn.Linear(64, 1), nn.Linear(64, 5)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        h = self.body(x)
        return self.number(h).squeeze(1), self.kind(h)


def main(watch, faulty):
    x = torch.randn(4000, 16)
    number = torch.sin(x[:, 0]) + x[:, 1] * x[:, 2]
    kind = (x[:, 3:8] + 0.5 * x[:, 8:13]).argmax(1)
    model = TwoHeads()
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    with watch(model, opt) as monitor:
        for _ in range(25):
            for idx in torch.randperm(3200).split(64):
                guess, scores = model(x[idx])
                parts = torch.stack([F.mse_loss(guess, number[idx]), F.cross_entropy(scores, kind[idx])])
                loss = (parts * (-model.log_var).exp()).sum()
                if not faulty:
                    loss = loss + 0.5 * model.log_var.sum()
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                guess, scores = model(x[3200:])
            acc = (scores.argmax(1) == kind[3200:]).float().mean().item()
            monitor.log(val_mse=F.mse_loss(guess, number[3200:]).item(), val_acc=acc)
    return -F.mse_loss(guess, number[3200:]).item()
