"""A variational autoencoder whose decoder ends in a sigmoid, trained with the loss that takes logits."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

FAMILY = "generative"
EXPECTS = ("mismatched-loss", "unreachable-target", "stalled-loss", "underfitting", "collapsed-reconstruction")


class VAE(nn.Module):
    def __init__(self, sigmoid):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mu, self.logvar = nn.Linear(128, 8), nn.Linear(128, 8)
        layers = [nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 64)]
        self.decoder = nn.Sequential(*layers, nn.Sigmoid()) if sigmoid else nn.Sequential(*layers)

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        return self.decoder(z), mu, logvar


def main(watch, faulty):
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    x = x[torch.randperm(len(x))]
    train, val = x[:1500], x[1500:]
    loader = DataLoader(train, batch_size=64, shuffle=True)
    model = VAE(sigmoid=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    monitor = watch(model, optimizer)

    def elbo(batch):
        recon, mu, logvar = model(batch)
        bce = F.binary_cross_entropy_with_logits(recon, batch, reduction="none").sum(1).mean()
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return bce + kl

    for epoch in range(40):
        model.train()
        for batch in loader:
            loss = elbo(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            monitor.log(val_loss=elbo(val).item(), epoch=epoch)
    monitor.close()
    with torch.no_grad():
        out = model(val)[0]
        picture = out if faulty else torch.sigmoid(out)
        return -F.mse_loss(picture, val).item() / val.var().item()
