"""Cross-entropy by hand, log(softmax), without an epsilon: a confident answer gives -inf."""

import torch
from torch import nn

from strangers.common import digits

FAMILY = "precision"
EXPECTS = ("nonfinite-loss", "nonfinite-gradient", "nonfinite-weights")


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    with watch(model, optimizer) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(64):
                logits = model(x[i]) * 400
                logp = logits.softmax(1).log() if faulty else logits.log_softmax(1)
                loss = -logp[range(len(i)), y[i]].mean() / 400
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                acc = (model(xt).argmax(1) == yt).float().mean().item()
            monitor.log(val_acc=acc)
    return acc
