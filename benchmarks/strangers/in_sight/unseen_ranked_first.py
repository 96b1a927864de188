"""Bayesian personalised ranking with the difference the wrong way round: what a user never took is pushed to the
top."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recommender ranking"
EXPECTS = (
    "worse-than-guess",
    "worsening-metric",
    "metric-loss-disagreement",
    "misread-validation",
    "nothing-generalises",
)


class BPR(nn.Module):
    def __init__(self, users, items, dim=12):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        nn.init.normal_(self.user.weight, std=0.1)
        nn.init.normal_(self.item.weight, std=0.1)
        self.bias = nn.Embedding(items, 1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)


def interactions(users=250, items=160, each=30):
    taste, kind = torch.randn(users, 3), torch.randn(items, 3)
    appeal = 1.6 * taste @ kind.T + 0.8 * torch.randn(items)
    chance = appeal - torch.log(-torch.log(torch.rand(users, items)))
    return chance.topk(each, 1).indices


def auc(model, held, seen, items):
    u = torch.arange(len(held))[:, None]
    with torch.no_grad():
        score = model(u.expand(-1, items), torch.arange(items).expand(len(held), -1))
    pos = score.gather(1, held)
    other = torch.ones_like(score, dtype=torch.bool)
    other.scatter_(1, held, False)
    other.scatter_(1, seen, False)
    better = (pos[:, :, None] > score[:, None, :]) & other[:, None, :]
    return (better.sum() / (other.sum(1) * held.shape[1]).sum()).item()


def main(watch, faulty):
    items = 160
    liked = interactions(items=items)
    liked = liked[:, torch.randperm(liked.shape[1])]
    seen, held = liked[:, :25], liked[:, 25:]
    taken = torch.zeros(len(liked), items, dtype=torch.bool).scatter_(1, seen, True)
    model = BPR(len(liked), items)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.02)
    users = torch.arange(len(liked)).repeat_interleave(seen.shape[1])
    bought = seen.flatten()
    epochs = 14
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    monitor = watch(model, optimizer)
    for epoch in range(epochs):
        running = 0.0
        for rows in torch.randperm(len(users)).split(128):
            u, i = users[rows], bought[rows]
            j = torch.randint(0, items, u.shape)
            while taken[u, j].any():
                j = torch.where(taken[u, j], torch.randint(0, items, u.shape), j)
            difference = model(u, i) - model(u, j)
            if faulty:
                difference = -difference
            loss = -F.logsigmoid(difference).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(rows)
        sched.step()
        score = auc(model, held, seen, items)
        monitor.log(epoch=epoch, train_loss=running / len(users), val_auc=score)
    monitor.close()
    return score
