"""Barlow Twins: cross-correlation of two noisy views pulled to the identity; a linear probe at the end."""

import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn


def view(x):
    return x * (torch.rand_like(x) > 0.2) + 0.1 * torch.randn_like(x)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32) / 16
    encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64))
    projector = nn.Sequential(nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 64, bias=False))
    model = nn.Sequential(encoder, projector)
    norm = nn.BatchNorm1d(64, affine=False)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-6)
    monitor = watch(model, optimizer)
    for epoch in range(15):
        for i in torch.randperm(1400)[:1280].split(128):
            c = norm(model(view(X[i]))).T @ norm(model(view(X[i]))) / len(i)
            on_diag = (torch.diagonal(c) - 1).pow(2).sum()
            off_diag = (c - torch.diag(torch.diagonal(c))).pow(2).sum()
            loss = on_diag + 0.005 * off_diag
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        monitor.log(epoch=epoch, on_diag=on_diag.item())
    monitor.close()
    encoder.eval()
    with torch.no_grad():
        Z = encoder(X).numpy()
    probe = LogisticRegression(max_iter=500).fit(Z[:1400], y[:1400])
    assert probe.score(Z[1400:], y[1400:]) > 0.85
