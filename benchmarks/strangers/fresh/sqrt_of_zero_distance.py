"""A distance taken as sqrt(sum of squares) without an epsilon: pairs of equal inputs make the gradient NaN."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "precision"
EXPECTS = ("nonfinite-gradient", "nonfinite-weights", "nonfinite-loss")


def main(watch, faulty):
    x, y, _, _ = digits()
    x = x.clone()
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 16))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    last = 0.0
    with watch(model, optimizer):
        for step in range(600):
            a, b = torch.randint(0, len(x), (2, 64))
            if step >= 300 and step % 100 == 0:
                b[0] = a[0]  # the same picture twice
            squared = (model(x[a]) - model(x[b])).pow(2).sum(1)
            distance = torch.sqrt(squared if faulty else squared + 1e-8)
            same = (y[a] == y[b]).float()
            loss = (same * distance.pow(2) + (1 - same) * (2 - distance).clamp(min=0).pow(2)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            last = loss.item()
    return -last
