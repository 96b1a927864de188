"""log_softmax(dim=0): normalised over the batch instead of over the classes; each answer depends on its neighbours."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "conv net"
EXPECTS = (
    "mixed-samples",
    "mismatched-loss",
    "wrong-initial-loss",
    "gap-from-start",
    "nothing-generalises",
    "stuck-from-start",
)


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(144, 10),
        nn.LogSoftmax(dim=0 if faulty else 1),
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    monitor = watch(model, optimizer)
    for _ in range(12):
        for idx in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            F.nll_loss(model(x[idx]), y[idx]).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = torch.cat([model(part) for part in xt.split(20)])
        model.train()
        acc = (out.argmax(1) == yt).float().mean().item()
        monitor.log(val_loss=F.nll_loss(out, yt).item(), val_acc=acc)
    monitor.close()
    return acc
