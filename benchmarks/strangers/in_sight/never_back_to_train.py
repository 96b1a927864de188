"""model.train() stands before the epoch loop, model.eval() inside it: after one epoch it trains in eval mode."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "loop"
EXPECTS = ("training-in-eval-mode", "overfitting")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Flatten(), nn.Dropout(0.5), nn.Linear(576, 10)
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    monitor = watch(model, optimizer)
    for epoch in range(8):
        if epoch == 0 or not faulty:
            model.train()
        for i in torch.randperm(len(x)).split(64):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[i]), y[i])
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            out = model(xt)
        acc = (out.argmax(1) == yt).float().mean().item()
        monitor.log(test_loss=F.cross_entropy(out, yt).item(), test_accuracy=acc)
    monitor.close()
    return acc
