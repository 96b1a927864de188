"""Federated averaging whose weights add up to more than one, so that the shared model grows with every round."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "federated"
EXPECTS = ("weight-jump", "runaway-weights", "epoch-boundary-jump", "diverging-loss", "lost-progress", "overconfident",
           "loss-spike", "exploding-gradient", "nonfinite-loss", "growing-activations", "overfitting")  # fmt: skip


def main(watch, faulty):
    x, y, xt, yt = digits()
    order = y.argsort()
    mixed = torch.cat([order[:700][torch.randperm(700)], order[700:][torch.randperm(700)]])
    parts = mixed.view(-1)[torch.randperm(1400)].split([200, 300, 400, 500])
    sizes = [len(part) for part in parts]
    total = 900 if faulty else sum(sizes)  # the count of an earlier round, before a client joined
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer) as monitor:
        for _ in range(20):
            start, gathered = copy.deepcopy(model.state_dict()), None
            for part in parts:
                model.load_state_dict(start)
                for idx in part[torch.randperm(len(part))].split(32):
                    optimizer.zero_grad()
                    F.cross_entropy(model(x[idx]), y[idx]).backward()
                    optimizer.step()
                share = {k: v * len(part) / total for k, v in model.state_dict().items()}
                gathered = share if gathered is None else {k: gathered[k] + share[k] for k in share}
            model.load_state_dict(gathered)
            loss, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=loss, val_acc=acc)
    return -loss
