"""A discrete autoencoder with Gumbel-softmax codes whose temperature is lowered: the loss may rise as it cools."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


class Discrete(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 12 * 8))
        self.dec = nn.Sequential(nn.Linear(12 * 8, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x, tau):
        logits = self.enc(x).view(-1, 12, 8)
        code = F.gumbel_softmax(logits, tau, hard=not self.training)
        q = F.softmax(logits, -1)
        kl = (q * (q.clamp_min(1e-9).log() + torch.tensor(8.0).log())).sum((1, 2)).mean()
        return self.dec(code.flatten(1)), kl


def main(watch):
    x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    model = Discrete()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, opt) as monitor:
        for epoch in range(40):
            tau = max(0.5, 2.0 * 0.96**epoch)
            model.train()
            for i in torch.randperm(1400).split(64):
                out, kl = model(x[i], tau)
                loss = F.mse_loss(out, x[i]) + 1e-4 * kl
                opt.zero_grad()
                loss.backward()
                opt.step()
            model.eval()
            with torch.no_grad():
                val = F.mse_loss(model(x[1400:], tau)[0], x[1400:]).item()
            monitor.log(val_reconstruction=val, temperature=tau)
    assert val < 0.5 * x.var(0).mean().item()
