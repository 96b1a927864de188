"""Adam with weight_decay=0.1, a value meant for AdamW: the penalty becomes part of the gradient and wins."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import ratings

FAMILY = "recommender"
EXPECTS = (
    "decay-outweighs-gradient",
    "shrinking-weights",
    "stalled-loss",
    "underfitting",
    "collapsed-activations",
    "loss-at-chance",
)


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(200, 16), nn.Embedding(150, 16)
        self.user_bias, self.item_bias = nn.Embedding(200, 1), nn.Embedding(150, 1)
        self.mean = nn.Parameter(torch.tensor(3.3))
        for each in (self.user, self.item, self.user_bias, self.item_bias):
            nn.init.normal_(each.weight, std=0.1)

    def forward(self, u, i):
        biases = self.user_bias(u) + self.item_bias(i)
        return self.mean + biases.squeeze(-1) + (self.user(u) * self.item(i)).sum(-1)


def main(watch, faulty):
    u, i, stars = ratings()
    model = Factors()
    kind = torch.optim.Adam if faulty else torch.optim.AdamW
    opt = kind(model.parameters(), lr=1e-2, weight_decay=0.1)
    with watch(model, opt) as monitor:
        for _ in range(15):
            for b in torch.randperm(10000).split(128):
                loss = F.mse_loss(model(u[b], i[b]), stars[b])
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                val = F.mse_loss(model(u[10000:], i[10000:]), stars[10000:]).item()
            monitor.log(val_rmse=val**0.5)
    return -val
