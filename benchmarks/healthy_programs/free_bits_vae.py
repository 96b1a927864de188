"""A VAE with free bits: the KL term stands at its floor from early on, by construction."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits


class VAE(nn.Module):
    def __init__(self, latent=8, width=128):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.ReLU(), nn.Linear(width, 64))

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * (0.5 * log_var).exp()
        return self.decoder(z), mean, log_var


def parts(model, x, floor=0.5):
    out, mean, log_var = model(x)
    reconstruction = F.binary_cross_entropy_with_logits(out, x, reduction="none").sum(1).mean()
    kl = 0.5 * (mean**2 + log_var.exp() - 1 - log_var).mean(0)
    return reconstruction, kl.clamp(min=floor).sum(), kl.sum()


def main(watch):
    x, _, xv, _ = digits()
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    epochs = 40
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs=epochs, steps_per_epoch=28)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            for rows in torch.randperm(len(x)).split(50):
                reconstruction, kl, _ = parts(model, x[rows])
                loss = reconstruction + kl
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
            with torch.no_grad():
                r, k, true_kl = (v.item() for v in parts(model, xv))
            monitor.log(epoch=epoch, val_loss=r + k, val_reconstruction=r, val_kl=true_kl)
    average = (
        F.binary_cross_entropy(x.mean(0).clamp(0.01, 0.99).expand_as(xv), xv, reduction="none").sum(1).mean().item()
    )
    assert r < 0.9 * average and true_kl > 2, (r, average, true_kl)
