"""As in the first dropout paper: seven units in ten dropped, a wide layer, a large rate and a limit on every unit's
weights."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits


def limit(model, longest):
    with torch.no_grad():
        for layer in model:
            if isinstance(layer, nn.Linear):
                norm = layer.weight.norm(dim=1, keepdim=True)
                layer.weight.mul_((longest / norm).clamp(max=1))


def main(watch):
    x, y, xv, yv = digits()
    model = nn.Sequential(
        nn.Dropout(0.2),
        nn.Linear(64, 512),
        nn.ReLU(),
        nn.Dropout(0.7),
        nn.Linear(512, 256),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(256, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.5)
    epochs = 30
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for group in optimizer.param_groups:
                group["lr"] = 0.3 * 0.9**epoch
                group["momentum"] = min(0.9, 0.5 + 0.02 * epoch)
            for rows in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                limit(model, 2.0)
            loss, acc = accuracy(model, xv, yv)
            monitor.log(epoch=epoch, val_loss=loss, val_acc=acc)
    assert acc > 0.93, acc
