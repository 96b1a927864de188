"""A recommender learns pairs of a bought and another item, and the other item is the bought one."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.sequences import ratings

FAMILY = "recommender"
EXPECTS = (
    "constant-loss",
    "loss-at-chance",
    "stuck-from-start",
    "faded-gradient",
    "dead-layer",
    "step-without-gradient",
)


class Towers(nn.Module):
    def __init__(self):
        super().__init__()
        self.user, self.item = nn.Embedding(200, 16), nn.Embedding(150, 16)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1)


def main(watch, faulty):
    u, i, stars = ratings(count=20000)
    liked = stars > 3.5
    u, i = u[liked], i[liked]
    cut = len(u) * 4 // 5
    model = Towers()
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    with watch(model, opt) as monitor:
        for _ in range(12):
            for b in torch.randperm(cut).split(128):
                other = i[b] if faulty else torch.randint(0, 150, (len(b),))
                loss = -F.logsigmoid(model(u[b], i[b]) - model(u[b], other)).mean()
                opt.zero_grad()
                loss.backward()
                opt.step()
            with torch.no_grad():
                other = torch.randint(0, 150, (len(u) - cut,))
                auc = (model(u[cut:], i[cut:]) > model(u[cut:], other)).float().mean().item()
            monitor.log(val_auc=auc)
    return auc
