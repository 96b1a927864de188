"""The weighted sampler was given one weight per class instead of one per sample: it only ever draws the first ten."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

from strangers.common import accuracy, digits

FAMILY = "data loading"
EXPECTS = ("repeated-batches", "overfitting", "nothing-generalises", "gap-from-start", "overconfident")


def main(watch, faulty):
    x, y, xt, yt = digits()
    class_weights = 1.0 / torch.bincount(y).float()
    weights = class_weights if faulty else class_weights[y]
    sampler = WeightedRandomSampler(weights.tolist(), num_samples=len(x))
    loader = DataLoader(TensorDataset(x, y), batch_size=32, sampler=sampler)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for xb, yb in loader:
                optimizer.zero_grad()
                F.cross_entropy(model(xb), yb).backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
