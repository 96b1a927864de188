"""A VAE whose reconstruction is summed over the pixels while the KL is averaged over batch and code and divided by the
size of the data set as well: nothing keeps the codes near the prior, and what is drawn from it is no digit."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

FAMILY = "generative"
EXPECTS = ("unbalanced-loss-parts", "growing-activations")


class VAE(nn.Module):
    def __init__(self, code=8):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 2 * code))
        self.decoder = nn.Sequential(nn.Linear(code, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        mean, log_var = self.encoder(x).chunk(2, 1)
        code = mean + torch.randn_like(mean) * (log_var / 2).exp()
        return self.decoder(code), mean, log_var


def main(watch, faulty):
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    x = x[torch.randperm(len(x))]
    train, held = x[:1400], x[1400:]
    model = VAE()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    def loss_of(batch):
        out, mean, log_var = model(batch)
        reconstruction = F.binary_cross_entropy_with_logits(out, batch, reduction="sum") / len(batch)
        kl = -0.5 * (1 + log_var - mean**2 - log_var.exp())
        return reconstruction + (kl.mean() / len(train) if faulty else kl.sum(1).mean())

    with watch(model, optimizer) as monitor:
        for _ in range(50):
            model.train()
            for idx in torch.randperm(len(train)).split(64):
                loss = loss_of(train[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                monitor.log(val_loss=loss_of(held).item())
    with torch.no_grad():
        drawn = model.decoder(torch.randn(397, 8)).sigmoid()
        return -(
            2 * torch.cdist(drawn, held).mean() - torch.cdist(drawn, drawn).mean() - torch.cdist(held, held).mean()
        ).item()
