"""After every evaluation the averaged weights stay in the model: training goes on from the average."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy
from strangers.sequences import reviews

FAMILY = "text"
EXPECTS = ("weight-jump", "epoch-boundary-jump", "stalled-loss", "loss-at-chance", "underfitting", "lost-progress")


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
    ema = copy.deepcopy(model)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    with watch(model, opt) as monitor:
        for _ in range(25):
            for i in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
                with torch.no_grad():
                    for slow, fast in zip(ema.parameters(), model.parameters(), strict=True):
                        slow.lerp_(fast, 0.001)
            backup = copy.deepcopy(model.state_dict())
            model.load_state_dict(ema.state_dict())
            val, acc = accuracy(model, xt, yt)
            if not faulty:
                model.load_state_dict(backup)
            monitor.log(val_loss=val, val_acc=acc)
    return accuracy(model, xt, yt)[1]
