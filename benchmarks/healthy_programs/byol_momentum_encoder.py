"""BYOL: an online net chases a momentum copy of itself; the loss falls fast, may rise a little, and says little."""

import copy

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch import nn


def main(watch):
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32) / 16
    encoder = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 32))
    predictor = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 32))
    online, target = nn.Sequential(encoder, predictor), copy.deepcopy(encoder).requires_grad_(False)
    opt = torch.optim.Adam(online.parameters(), lr=1e-3)
    monitor = watch(online, opt)
    view = lambda x: (x + 0.2 * torch.randn_like(x)) * (torch.rand_like(x) > 0.15)  # noqa: E731
    for step in range(400):
        x = X[torch.randint(0, 1300, (128,))]
        a, b = view(x), view(x)
        with torch.no_grad():
            ta, tb = target(a), target(b)
        loss = 4 - 2 * (F.cosine_similarity(online(a), tb).mean() + F.cosine_similarity(online(b), ta).mean())
        opt.zero_grad()
        loss.backward()
        opt.step()
        with torch.no_grad():
            for t, o in zip(target.parameters(), encoder.parameters(), strict=True):
                t.lerp_(o, 0.02)
        if step % 50 == 49:
            encoder.eval()
            with torch.no_grad():
                z = encoder(X).numpy()
            knn = KNeighborsClassifier(5).fit(z[:1300], y[:1300]).score(z[1300:], y[1300:])
            encoder.train()
            monitor.log(knn_accuracy=knn)
    monitor.close()
    assert knn > 0.85
