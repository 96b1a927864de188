"""The hinge loss wants labels of -1 and +1 but gets 0 and 1: the negatives have the constant loss one and teach
nothing."""

import numpy as np
import torch
from sklearn.datasets import make_moons
from torch import nn

FAMILY = "loss function"
EXPECTS = (
    "mismatched-loss",
    "category-gap",
    "loss-without-accuracy",
    "stalled-loss",
    "faded-gradient",
    "collapsed-activations",
)


class DeepSVM(nn.Module):
    def __init__(self, n_in, n_hidden=48):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_hidden), nn.Tanh())
        self.w = nn.Linear(n_hidden, 1)

    def forward(self, x):
        return self.w(self.phi(x))[:, 0]


def hinge(score, y):
    return torch.clamp(1 - y * score, min=0).mean()


def main(watch, faulty):
    X, y = make_moons(4000, noise=0.18)
    X = torch.from_numpy(((X - X.mean(0)) / X.std(0)).astype(np.float32))
    y = torch.from_numpy(y.astype(np.float32))
    if not faulty:
        y = 2 * y - 1
    Xt, yt, X, y = X[3400:], y[3400:], X[:3400], y[:3400]
    svm = DeepSVM(2)
    optimizer = torch.optim.SGD(svm.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
    n_iter = 700
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, n_iter)
    with watch(svm, optimizer) as monitor:
        for it in range(n_iter):
            idx = torch.from_numpy(np.random.choice(len(X), 64))
            loss = hinge(svm(X[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            decay.step()
            if it % 50 == 49:
                with torch.no_grad():
                    s = svm(Xt)
                acc = ((s > 0) == (yt > 0)).float().mean().item()
                monitor.log(step=it, val_loss=hinge(s, yt).item(), val_acc=acc)
    return acc
