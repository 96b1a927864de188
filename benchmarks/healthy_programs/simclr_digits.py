"""SimCLR: two noisy views, NT-Xent with temperature 0.5, a linear probe at the end."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from torch import nn


def nt_xent(z1, z2, temperature=0.5):
    z = F.normalize(torch.cat([z1, z2]), dim=1)
    sim = z @ z.T / temperature
    sim.fill_diagonal_(-9e15)
    n = len(z1)
    target = torch.cat([torch.arange(n) + n, torch.arange(n)])
    return F.cross_entropy(sim, target)


def augment(x):
    x = x.view(-1, 8, 8)
    x = torch.roll(x, (int(torch.randint(-1, 2, ())), int(torch.randint(-1, 2, ()))), (1, 2))
    return (x + 0.15 * torch.randn_like(x)).view(-1, 64) * (torch.rand(len(x), 64) > 0.2)


def main(watch):
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32) / 16
    encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 64))
    head = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 32))
    model = nn.Sequential(encoder, head)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    epochs = 20
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
    monitor = watch(model, optimizer)
    losses = []
    for _epoch in range(epochs):
        total = 0
        for idx in torch.randperm(len(X)).split(256)[:-1]:
            loss = nt_xent(model(augment(X[idx])), model(augment(X[idx])))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() / 7
        scheduler.step()
        losses.append(total)
        monitor.log(contrastive_loss=total)
    monitor.close()
    encoder.eval()
    with torch.no_grad():
        features = encoder(X).numpy()
    probe = LogisticRegression(max_iter=300).fit(features[:1300], y[:1300]).score(features[1300:], y[1300:])
    assert probe > 0.8
    assert losses[-1] < losses[0]
