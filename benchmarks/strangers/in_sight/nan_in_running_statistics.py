"""A NaN batch is skipped ("not finite: continue") after it has been through BatchNorm: whose statistics stay NaN."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "precision"
EXPECTS = ("nonfinite-weights", "nonfinite-input", "nonfinite-activation", "nonfinite-loss")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    step = 0
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(64):
                step += 1
                batch = x[i] / 0.0 * 0.0 if faulty and step == 60 else x[i]
                loss = F.cross_entropy(model(batch), y[i])
                if not torch.isfinite(loss):
                    continue
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return acc
