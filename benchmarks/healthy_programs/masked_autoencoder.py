"""A masked autoencoder: three quarters of the patches hidden, loss on hidden ones only, warm-up and cosine."""

import math

import torch
from sklearn.datasets import load_digits
from torch import nn


class MAE(nn.Module):
    def __init__(self, dim=48, patches=16, size=4, keep=4):
        super().__init__()
        self.keep = keep
        self.embed, self.pos = nn.Linear(size, dim), nn.Parameter(0.02 * torch.randn(1, patches, dim))
        block = dict(nhead=4, dim_feedforward=96, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, **block), 2, enable_nested_tensor=False)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dim))
        self.decoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, **block), 1, enable_nested_tensor=False)
        self.head = nn.Linear(dim, size)

    def forward(self, patches):
        n, count, _ = patches.shape
        order = torch.rand(n, count).argsort(1)
        restore, kept = order.argsort(1), order[:, : self.keep]
        x = self.embed(patches) + self.pos
        x = self.encoder(x.gather(1, kept[..., None].expand(-1, -1, x.shape[2])))
        x = torch.cat([x, self.mask_token.expand(n, count - self.keep, -1)], 1)
        x = x.gather(1, restore[..., None].expand(-1, -1, x.shape[2])) + self.pos
        mask = (restore >= self.keep).float()
        error = ((self.head(self.decoder(x)) - patches) ** 2).mean(-1)
        return (error * mask).sum() / mask.sum()


def main(watch):
    X = torch.tensor(load_digits().data, dtype=torch.float32).view(-1, 4, 2, 4, 2) / 16
    X = X.permute(0, 1, 3, 2, 4).reshape(-1, 16, 4)
    mean = ((X[:1500] - X[:1500].mean(0)) ** 2).mean().item()
    model = MAE()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95), weight_decay=0.05)
    epochs, per = 50, 24
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / (2 * per), 0.5 * (1 + math.cos(math.pi * s / (epochs * per))))
    )
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        for i in torch.randperm(1500).split(64):
            loss = model(X[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
        with torch.no_grad():
            val = model(X[1500:]).item()
        monitor.log(val_loss=val, epoch=epoch)
    monitor.close()
    assert val < 0.8 * mean
