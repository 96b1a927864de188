"""A VAE with a mean reconstruction error beside a KL summed over the batch: every picture becomes the mean."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "generative"
EXPECTS = (
    "unbalanced-loss-parts",
    "collapsed-activations",
    "stalled-loss",
    "underfitting",
    "loss-at-chance",
    "silent-parameter",
)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.mu, self.logvar = nn.Linear(64, 96), nn.Linear(96, 6), nn.Linear(96, 6)
        self.dec = nn.Sequential(nn.Linear(6, 96), nn.ReLU(), nn.Linear(96, 64), nn.Sigmoid())

    def forward(self, x):
        h = F.relu(self.enc(x))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.dec(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


def main(watch, faulty):
    x, _, xt, _ = digits()
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for _ in range(20):
            for i in torch.randperm(len(x)).split(64):
                out, mu, logvar = model(x[i])
                kl = -0.5 * (1 + logvar - mu**2 - logvar.exp())
                loss = F.mse_loss(out, x[i]) + (kl.sum() if faulty else 0.002 * kl.mean())
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = F.mse_loss(model(xt)[0], xt).item()
            monitor.log(val_reconstruction=val)
    return -val
