"""A conditional neural process: every batch is new functions and another number of context points; the loss jumps
with them."""

import torch
from torch import nn


def functions(n, points):
    """Draws of a Gaussian process."""
    x = torch.rand(n, points, 1) * 4 - 2
    scale = 0.6 + 0.6 * torch.rand(n, 1, 1)
    k = torch.exp(-0.5 * (x - x.mT) ** 2 / scale**2) + 1e-3 * torch.eye(points)
    return x, torch.linalg.cholesky(k) @ torch.randn(n, points, 1)


class CNP(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.encode = nn.Sequential(
            nn.Linear(2, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.decode = nn.Sequential(
            nn.Linear(width + 1, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2)
        )

    def forward(self, xc, yc, xt):
        r = self.encode(torch.cat([xc, yc], -1)).mean(1, keepdim=True)
        mean, spread = self.decode(torch.cat([r.expand(-1, xt.shape[1], -1), xt], -1)).chunk(2, -1)
        return torch.distributions.Normal(mean, 0.03 + nn.functional.softplus(spread))


def main(watch):
    model = CNP()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    steps = 1000
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    xv, yv = functions(200, 30)
    with watch(model, optimizer) as monitor:
        for step in range(steps):
            x, y = functions(24, 30)
            c = int(torch.randint(3, 20, ()))
            loss = -model(x[:, :c], y[:, :c], x).log_prob(y).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            if step % 100 == 99:
                with torch.no_grad():
                    guess = model(xv[:, :12], yv[:, :12], xv[:, 12:])
                    val = -guess.log_prob(yv[:, 12:]).mean().item()
                monitor.log(val_nll=val, step=step)
    error = (guess.mean - yv[:, 12:]).pow(2).mean().item()
    assert error < 0.35 * yv.var().item(), error
