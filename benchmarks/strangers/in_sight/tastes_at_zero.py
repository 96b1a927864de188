"""Both tables of a matrix factorisation start at zero: each one's gradient is the other one, and neither moves."""

import torch
from torch import nn

from strangers.sequences import ratings

FAMILY = "recommender"
EXPECTS = ("dead-layer", "symmetric-units", "stalled-loss", "unmoved-parameter", "silent-parameter", "underfitting")


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, n_factors=6, zero_init=False):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, n_factors)
        self.item_factors = nn.Embedding(n_items, n_factors)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mu = nn.Parameter(torch.zeros(1))
        for table in (self.user_factors, self.item_factors):
            if zero_init:
                nn.init.zeros_(table.weight)
            else:
                nn.init.normal_(table.weight, std=0.1)
        nn.init.zeros_(self.user_bias.weight)
        nn.init.zeros_(self.item_bias.weight)

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(1)
        return self.mu + dot + self.user_bias(user)[:, 0] + self.item_bias(item)[:, 0]


def main(watch, faulty):
    u, i, stars = ratings(count=24000)
    mean = stars[:21000].mean()
    stars = stars - mean
    model = MatrixFactorization(200, 150, zero_init=faulty)
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    criterion = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(10):
            for idx in torch.randperm(21000).split(256):
                loss = criterion(model(u[idx], i[idx]), stars[idx])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            with torch.no_grad():
                val = criterion(model(u[21000:], i[21000:]), stars[21000:]).item()
            monitor.log(epoch=epoch, val_loss=val, val_rmse=val**0.5)
    return -val
