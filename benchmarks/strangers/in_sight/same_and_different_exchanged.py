"""A siamese net with a contrastive loss: the paper's label is 1 for a pair that differs, the data's is 1 for a pair of
the same class."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "metric learning"
EXPECTS = (
    "worse-than-guess",
    "worsening-metric",
    "metric-loss-disagreement",
    "loss-without-accuracy",
    "collapsed-activations",
)


def pairs(x, y, count):
    """Half of them of the same class."""
    i, j = torch.randint(0, len(x), (2, count))
    for k in range(0, count, 2):
        same = (y == y[i[k]]).nonzero().squeeze(1)
        j[k] = same[torch.randint(0, len(same), ())]
    return x[i], x[j], (y[i] == y[j]).float()


def contrastive(a, b, different, margin=1.0):
    distance = (a - b).pow(2).sum(1).add(1e-8).sqrt()
    return ((1 - different) * distance.pow(2) + different * F.relu(margin - distance).pow(2)).mean()


def recall_at_1(model, x, y):
    with torch.no_grad():
        z = model(x)
    nearest = torch.cdist(z, z).fill_diagonal_(float("inf")).argmin(1)
    return (y[nearest] == y).float().mean().item()


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            for _ in range(30):
                a, b, same = pairs(x, y, 64)
                loss = contrastive(model(a), model(b), same if faulty else 1 - same)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            monitor.log(
                **{"epoch": epoch, "train/loss": loss.item(), "val/recall@1": recall_at_1(model, xt[:200], yt[:200])}
            )
    return recall_at_1(model, xt[200:], yt[200:])
