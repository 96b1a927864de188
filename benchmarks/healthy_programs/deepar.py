"""DeepAR: an LSTM that predicts mean and spread of the next value, scaled per series; negative log-likelihoods."""

import math

import torch
from torch import nn


def series(n, length=40):
    t = torch.arange(length)
    phase, level = 2 * math.pi * torch.rand(n, 1), torch.exp(2 * torch.randn(n, 1))
    return level * (2 + (2 * math.pi * t / 12 + phase).sin() + 0.1 * torch.randn(n, length))


class DeepAR(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 40, num_layers=2, dropout=0.1, batch_first=True)
        self.mu, self.sigma = nn.Linear(40, 1), nn.Linear(40, 1)

    def forward(self, z):
        h, _ = self.lstm(z)
        return self.mu(h), nn.functional.softplus(self.sigma(h)) + 1e-4


def nll(model, batch):
    scale = 1 + batch[:, :12].abs().mean(1, keepdim=True)
    z = (batch / scale)[..., None]
    mu, sigma = model(z[:, :-1])
    return -torch.distributions.Normal(mu, sigma).log_prob(z[:, 1:]).mean()


def main(watch):
    train, held = series(800), series(200)
    model = DeepAR()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    monitor = watch(model, optimizer)
    for epoch in range(12):
        model.train()
        for i in torch.randperm(800).split(32):
            loss = nll(model, train[i])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val = nll(model, held).item()
        monitor.log(val_nll=val, epoch=epoch)
    monitor.close()
    assert val < -0.4
