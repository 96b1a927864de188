"""A Gaussian likelihood whose variance has no floor, on data that repeats exactly: it goes to minus infinity."""

import torch
from torch import nn

FAMILY = "generative"
EXPECTS = ("unbounded-negative-loss", "nonfinite-loss", "exploding-gradient", "diverging-loss", "loss-spike")


class Net(nn.Module):
    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        self.body, self.mean, self.logvar = (
            nn.Sequential(nn.Linear(3, 64), nn.ReLU()),
            nn.Linear(64, 1),
            nn.Linear(64, 1),
        )

    def forward(self, x):
        h = self.body(x)
        logvar = self.logvar(h)
        return self.mean(h), logvar if self.faulty else logvar.clamp(min=-4)


def main(watch, faulty):
    x = torch.randn(1000, 3)
    y = (x @ torch.tensor([1.0, -2.0, 0.5]))[:, None]
    net = Net(faulty)
    opt = torch.optim.Adam(net.parameters(), lr=1e-2)
    monitor = watch(net, opt)
    for step in range(900):
        i = torch.randint(0, 800, (64,))
        mean, logvar = net(x[i])
        loss = 0.5 * (logvar + (mean - y[i]) ** 2 / logvar.exp()).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 90 == 89:
            with torch.no_grad():
                mean, logvar = net(x[800:])
                val = 0.5 * (logvar + (mean - y[800:]) ** 2 / logvar.exp()).mean().item()
            monitor.log(val_nll=val)
    monitor.close()
    return -val
