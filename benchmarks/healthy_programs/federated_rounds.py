"""Federated averaging: five clients with different shares of the classes; the averaged model is put back at every
round."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits


def deal(y, clients):
    """Each client gets its own mixture of the digits."""
    share = torch.distributions.Dirichlet(torch.full((clients,), 1.0)).sample((10,))
    owner = torch.stack([torch.multinomial(share[c], 1)[0] for c in y])
    return [(owner == k).nonzero()[:, 0] for k in range(clients)]


def main(watch):
    x, y, xv, yv = digits()
    rows_of = deal(y, 5)
    server = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    worker = copy.deepcopy(server)
    optimizer = torch.optim.SGD(worker.parameters(), lr=0.4)
    monitor = watch(worker, optimizer)
    for round_ in range(30):
        update = {k: torch.zeros_like(v) for k, v in server.state_dict().items()}
        for rows in rows_of:
            worker.load_state_dict(server.state_dict())
            for batch in rows[torch.randperm(len(rows))].split(32):
                loss = F.cross_entropy(worker(x[batch]), y[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            for k, v in worker.state_dict().items():
                update[k] += v * len(rows) / len(x)
        server.load_state_dict(update)
        worker.load_state_dict(update)
        optimizer.param_groups[0]["lr"] *= 0.93
        loss, acc = accuracy(worker, xv, yv)
        monitor.log({"round": round_, "val/loss": loss, "val/acc": acc})
    monitor.close()
    assert acc > 0.85, acc
