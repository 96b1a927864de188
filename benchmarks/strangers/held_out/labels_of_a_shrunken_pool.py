"""Active learning: points leave the pool before their labels are looked up, so every new label is a neighbour's."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "active learning"
EXPECTS = ("nothing-generalises", "overfitting", "overconfident", "gap-from-start", "underfitting", "stalled-loss")


def main(watch, faulty):
    x, y, xt, yt = digits()
    known_x, known_y, pool_x, pool_y = x[:40], y[:40], x[40:], y[40:]
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for _ in range(4):
                for idx in torch.randperm(len(known_x)).split(20):
                    optimizer.zero_grad()
                    F.cross_entropy(model(known_x[idx]), known_y[idx]).backward()
                    optimizer.step()
            with torch.no_grad():
                sure = model(pool_x).softmax(1).amax(1)
            ask = sure.topk(60, largest=False).indices
            keep = torch.ones(len(pool_x), dtype=torch.bool)
            keep[ask] = False
            new_x, new_y = pool_x[ask], pool_y[ask]
            pool_x, pool_y = pool_x[keep], pool_y[keep]
            if faulty:
                new_y = pool_y[ask.clamp(max=len(pool_y) - 1)]
            known_x, known_y = torch.cat([known_x, new_x]), torch.cat([known_y, new_y])
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
