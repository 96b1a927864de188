"""A Huber loss whose delta was chosen for targets in kilometres; they are standardised now, and every gradient is a
thousandth of what it was."""

import torch
from torch import nn

FAMILY = "regression"
EXPECTS = ("undersized-update", "stuck-from-start", "stalled-loss", "faded-gradient", "underfitting", "constant-loss")


def routes(count):
    x = torch.rand(count, 5) * 4 - 2
    y = x[:, 0].pow(2) - x[:, 1] * x[:, 2] + 2 * torch.sin(2 * x[:, 3]) + 0.2 * torch.randn(count)
    return x, ((y - 1.3) / 2.6)[:, None]


class Fit:
    """The loop of all our models: momentum, batches of 32, an evaluation after each epoch."""

    def __init__(self, model, criterion, lr):
        self.model, self.criterion = model, criterion
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def epoch(self, x, y):
        self.model.train()
        for rows in torch.randperm(len(x)).split(32):
            self.optimizer.zero_grad()
            self.criterion(self.model(x[rows]), y[rows]).backward()
            self.optimizer.step()

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        out = self.model(x)
        return self.criterion(out, y).item(), 1 - ((out - y).pow(2).mean() / y.var()).item()


def main(watch, faulty):
    x, y = routes(2000)
    xv, yv = routes(500)
    model = nn.Sequential(nn.Linear(5, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
    fit = Fit(model, nn.HuberLoss(delta=0.001 if faulty else 1.0), lr=0.02)
    with watch(model, fit.optimizer) as monitor:
        for epoch in range(12):
            fit.epoch(x, y)
            loss, r2 = fit.evaluate(xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_r2=r2)
    return fit.evaluate(*routes(2000))[1]
