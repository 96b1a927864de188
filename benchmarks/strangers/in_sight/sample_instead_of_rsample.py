"""A VAE whose code is drawn with Normal(...).sample(): no gradient goes through it, and the encoder learns from the KL
term alone."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Normal, kl_divergence

from strangers.common import digits

FAMILY = "generative"
EXPECTS = (
    "collapsed-reconstruction",
    "silent-parameter",
    "dead-layer",
    "stalled-loss",
    "vanishing-gradient",
    "collapsed-activations",
)


class VAE(nn.Module):
    def __init__(self, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, 128), nn.ReLU(), nn.Linear(128, 64))

    def posterior(self, x):
        mean, log_variance = self.encoder(x).chunk(2, dim=1)
        return Normal(mean, (0.5 * log_variance).exp())

    def forward(self, x, faulty):
        posterior = self.posterior(x)
        code = posterior.sample() if faulty else posterior.rsample()
        return self.decoder(code), posterior


def elbo(model, x, faulty):
    logits, posterior = model(x, faulty)
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="none").sum(1)
    kl = kl_divergence(posterior, Normal(0.0, 1.0)).sum(1)
    return reconstruction.mean(), kl.mean()


def main(watch, faulty):
    x, _, xt, _ = digits()
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(20):
            model.train()
            for idx in torch.randperm(len(x)).split(64):
                reconstruction, kl = elbo(model, x[idx], faulty)
                loss = reconstruction + kl
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                reconstruction, kl = elbo(model, xt, faulty)
            monitor.log(epoch=epoch, val_loss=(reconstruction + kl).item(), val_kl=kl.item())
    with torch.no_grad():
        return -F.mse_loss(model.decoder(model.posterior(xt).mean).sigmoid(), xt).item()
