"""The loss is averaged in Python and wrapped in a new tensor: requires_grad=True silences the error, nothing learns."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy
from strangers.sequences import reviews

FAMILY = "text"
EXPECTS = ("step-without-gradient", "stuck-from-start", "silent-parameter", "loss-at-chance", "never-stepped")


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(200, 32, mode="mean", padding_idx=0)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.body(self.emb(x))


def main(watch, faulty):
    (x, y, _), (xt, yt, _) = reviews(3000), reviews(600)
    model = Bag()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    with watch(model, opt) as monitor:
        for _ in range(15):
            for i in torch.randperm(len(x)).split(64):
                losses = [F.cross_entropy(model(x[j]), y[j]) for j in i.chunk(2)]
                if faulty:
                    loss = torch.tensor([each.item() for each in losses], requires_grad=True).mean()
                else:
                    loss = torch.stack(losses).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return acc
