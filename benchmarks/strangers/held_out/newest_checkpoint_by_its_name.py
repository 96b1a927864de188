"""A run on a machine that is taken away every five epochs goes on from the newest checkpoint, which is found by sorting
the names: epoch_9 comes after epoch_14, and after epoch_19."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import text, windows

FAMILY = "resume"
EXPECTS = (
    "lost-progress",
    "weight-jump",
    "loss-spike",
    "epoch-boundary-jump",
    "stalled-loss",
    "oscillating-loss",
    "learning-rate-leap",
)


class CharGRU(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 32)
        self.gru = nn.GRU(32, 96, batch_first=True)
        self.head = nn.Linear(96, vocabulary)

    def forward(self, ids):
        return self.head(self.gru(self.embedding(ids))[0])


def loss_on(model, ids, count):
    x, y = windows(ids, count, 40)
    return F.cross_entropy(model(x).transpose(1, 2), y)


def newest(checkpoints, faulty):
    key = None if faulty else lambda name: int(name.split("_")[1])
    return checkpoints[sorted(checkpoints, key=key)[-1]]


def main(watch, faulty):
    ids, vocabulary = text()
    train, val = ids[:70000], ids[70000:]
    model = CharGRU(vocabulary)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    checkpoints = {}
    with watch(model, optimizer) as monitor:
        for epoch in range(30):
            if epoch % 5 == 0 and checkpoints:  # a new machine
                state = newest(checkpoints, faulty)
                model.load_state_dict(state["model"])
                optimizer.load_state_dict(copy.deepcopy(state["optimizer"]))
            for _ in range(15):
                optimizer.zero_grad()
                loss = loss_on(model, train, 16)
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                monitor.log(epoch=epoch, val_loss=loss_on(model, val, 64).item())
            checkpoints[f"epoch_{epoch}"] = copy.deepcopy(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            )
    with torch.no_grad():
        return -loss_on(model, val, 300).item()
