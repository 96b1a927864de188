"""next(iter(loader)) in the loop with a fixed generator: the same batch at every step."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.common import accuracy, digits

FAMILY = "data pipeline"
EXPECTS = ("repeated-batches", "overfitting", "gap-from-start", "overconfident")


def main(watch, faulty):
    x, y, xt, yt = digits()
    dataset = TensorDataset(x, y)
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    generator = torch.Generator()
    with watch(model, optimizer) as monitor:
        for step in range(300):
            generator.manual_seed(0 if faulty else step)
            xb, yb = next(iter(DataLoader(dataset, 64, shuffle=True, generator=generator)))
            optimizer.zero_grad()
            F.cross_entropy(model(xb), yb).backward()
            optimizer.step()
            if step % 30 == 29:
                loss, acc = accuracy(model, xt, yt)
                monitor.log(val_loss=loss, val_acc=acc)
    return acc
