"""A VAE that subtracts its KL divergence: the posterior runs away and the loss goes to minus infinity."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "generative"
EXPECTS = (
    "unbounded-negative-loss",
    "runaway-weights",
    "growing-activations",
    "diverging-loss",
    "nonfinite-loss",
    "exploding-gradient",
)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc, self.stats, self.dec = (
            nn.Linear(64, 64),
            nn.Linear(64, 12),
            nn.Sequential(nn.Linear(6, 64), nn.ReLU(), nn.Linear(64, 64)),
        )

    def forward(self, x):
        mu, logvar = self.stats(F.relu(self.enc(x))).chunk(2, -1)
        return self.dec(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


def main(watch, faulty):
    x, _, xt, _ = digits()
    model = VAE()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    sign = -1 if faulty else 1
    with watch(model, opt) as monitor:
        for _ in range(15):
            for i in torch.randperm(len(x)).split(64):
                out, mu, logvar = model(x[i])
                kl = -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum(1).mean()
                loss = F.mse_loss(out, x[i], reduction="none").sum(1).mean() + sign * 0.3 * kl
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = F.mse_loss(model(xt)[0], xt).item()
            monitor.log(val_reconstruction=val)
    return -val
