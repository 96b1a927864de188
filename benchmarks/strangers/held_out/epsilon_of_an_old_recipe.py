"""Adam with eps=1.0, from a recipe for a net whose loss was a sum over a million pixels; here it swallows the steps."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

FAMILY = "encoder and decoder"
EXPECTS = (
    "damped-step",
    "undersized-update",
    "stalled-loss",
    "still-falling",
    "underfitting",
    "collapsed-reconstruction",
)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 8, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(64, 12),
        )
        self.decoder = nn.Sequential(
            nn.Linear(12, 64),
            nn.ReLU(),
            nn.Unflatten(1, (16, 2, 2)),
            nn.ConvTranspose2d(16, 8, 2, stride=2),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 2, stride=2),
        )

    def forward(self, x):
        return self.decoder(self.encoder(x))


def main(watch, faulty):
    x = torch.tensor(load_digits().images, dtype=torch.float32)[:, None] / 16
    x = x[torch.randperm(len(x))]
    train, val = x[:1400], x[1400:]
    loader = DataLoader(train, batch_size=64, shuffle=True)
    model = AutoEncoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, eps=1.0 if faulty else 1e-8)
    with watch(model, optimizer) as monitor:
        for epoch in range(20):
            model.train()
            for images in loader:
                loss = F.mse_loss(model(images), images)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            model.eval()
            with torch.no_grad():
                monitor.log(val_loss=F.mse_loss(model(val), val).item(), epoch=epoch)
    with torch.no_grad():
        return 1 - (F.mse_loss(model(val), val) / (val - train.mean(0)).square().mean()).item()
