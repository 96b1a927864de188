"""Learning a second task: the anchor of the old weights holds the parameters themselves, so the penalty is always
zero."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import digits

FAMILY = "continual learning"
EXPECTS = ("worsening-metric", "lost-progress", "metric-loss-disagreement", "category-gap", "loss-spike")


def net():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


@torch.no_grad()
def score(model, x, y):
    out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def fisher(model, x, y):
    importance = [torch.zeros_like(p) for p in model.parameters()]
    for i in range(400):
        model.zero_grad()
        out = model(x[i : i + 1])
        F.cross_entropy(out, torch.distributions.Categorical(logits=out).sample()).backward()
        for f, p in zip(importance, model.parameters(), strict=False):
            f += p.grad**2 / 400
    model.zero_grad()
    return importance


def main(watch, faulty):
    x, y, xv, yv = digits()
    other = torch.randperm(64)  # task two: the same digits, their pixels in another order
    tasks = [(x, xv), (x[:, other], xv[:, other])]
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    monitor = watch(model, optimizer)
    anchor, weight = None, None
    for number, (rows_x, _) in enumerate(tasks):
        for _epoch in range(15):
            for rows in torch.randperm(len(x)).split(50):
                loss = F.cross_entropy(model(rows_x[rows]), y[rows])
                if anchor is not None:
                    loss = loss + LAMBDA * sum(
                        (w * (p - a) ** 2).sum() for w, p, a in zip(weight, model.parameters(), anchor, strict=False)
                    )
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
            old, new = score(model, tasks[0][1], yv), score(model, tasks[number][1], yv)
            monitor.log(task=number, val_acc=new[1], val_acc_first_task=old[1])
        if number == 0:
            weight = fisher(model, x, y)
            anchor = [p if faulty else p.detach().clone() for p in model.parameters()]
    monitor.close()
    return (old[1] + new[1]) / 2


LAMBDA = 100
