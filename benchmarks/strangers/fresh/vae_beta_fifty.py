"""A VAE whose KL term is weighted by fifty: the latent says nothing, the decoder draws the mean digit."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "generative"
EXPECTS = (
    "posterior-collapse", "collapsed-activations", "stalled-loss", "underfitting", "loss-at-chance", "faded-gradient",
    "loss-imbalance", "constant-loss",
)  # fmt: skip


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
        self.decode = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64))

    def forward(self, x):
        mean, logvar = self.encode(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * logvar).exp()
        return self.decode(z), mean, logvar


def main(watch, faulty):
    x, _, xt, _ = digits()
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    beta = 50.0 if faulty else 0.5

    def losses(inputs):
        out, mean, logvar = model(inputs)
        recon = F.binary_cross_entropy_with_logits(out, inputs, reduction="none").sum(1).mean()
        kl = -0.5 * (1 + logvar - mean.pow(2) - logvar.exp()).sum(1).mean()
        return recon, kl

    with watch(model, optimizer) as monitor:
        for _ in range(30):
            for idx in torch.randperm(len(x)).split(100):
                recon, kl = losses(x[idx])
                optimizer.zero_grad()
                (recon + beta * kl).backward()
                optimizer.step()
            with torch.no_grad():
                recon, kl = losses(xt)
            monitor.log(val_loss=(recon + beta * kl).item(), val_recon=recon.item(), val_kl=kl.item())
    return -recon.item()
