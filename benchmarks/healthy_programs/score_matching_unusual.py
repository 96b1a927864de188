"""Healthy: denoising score matching; most of the loss is noise that nobody can predict, so it hardly falls by
design."""

import torch
from sklearn.datasets import make_moons
from torch import nn

FAMILY = "generative"
EXPECTS = ()


class ScoreNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 2))

    def forward(self, x, sigma):
        return self.net(torch.cat([x, sigma.log()], 1)) / sigma


def main(watch):
    data = torch.tensor(make_moons(4000, noise=0.03, random_state=0)[0], dtype=torch.float32)
    data = (data - data.mean(0)) / data.std(0)
    model = ScoreNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

    def loss_on(x):
        sigma = torch.exp(torch.empty(len(x), 1).uniform_(-4.0, 1.0))
        noise = torch.randn_like(x)
        return ((sigma * model(x + sigma * noise, sigma) + noise) ** 2).sum(1).mean()

    monitor = watch(model, optimizer)
    for step in range(1500):
        loss = loss_on(data[torch.randint(0, 3600, (128,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            with torch.no_grad():
                monitor.log(val_loss=loss_on(data[3600:].repeat(5, 1)).item())
    monitor.close()
    with torch.no_grad():
        x = torch.randn(800, 2) * 2.7
        for sigma in torch.exp(torch.linspace(1.0, -4.0, 40)):
            s = sigma.expand(800, 1)
            for _ in range(3):
                x = x + 0.1 * s**2 * model(x, s) + (0.2 * s**2).sqrt() * torch.randn_like(x)
        val = data[3600:]
        distance = (2 * torch.cdist(x, val).mean() - torch.cdist(x, x).mean() - torch.cdist(val, val).mean()).item()
    assert distance < 0.05, distance
    return -distance
