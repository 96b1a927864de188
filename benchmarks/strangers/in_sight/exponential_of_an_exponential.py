"""Counts: the network ends in exp, and the Poisson loss, which expects the logarithm, takes the exponential again."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "regression"
EXPECTS = (
    "mismatched-loss",
    "nonfinite-loss",
    "exploding-gradient",
    "stalled-loss",
    "collapsed-activations",
    "underfitting",
)


class Rate(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, x):
        return self.net(x).squeeze(1).exp()


def main(watch, faulty):
    x = torch.randn(6000, 10)
    rate = (0.6 * x[:, 0] - 0.5 * x[:, 1] + 0.3 * x[:, 2] * x[:, 3] - 0.7).exp()
    y = torch.poisson(rate)
    model = Rate()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(15):
            for idx in torch.randperm(5000).split(100):
                loss = F.poisson_nll_loss(model(x[idx]), y[idx], log_input=faulty)
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                guess = model(x[5000:])
            error = (guess.clamp(max=50) - rate[5000:]).abs().mean().item()
            monitor.log(val_loss=F.poisson_nll_loss(guess, y[5000:], log_input=faulty).item(), val_mae=error)
    return -error
