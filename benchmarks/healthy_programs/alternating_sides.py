"""Collaborative filtering by turns: users are learned for an epoch while the items are frozen, and the other way
round."""

import torch
from torch import nn

from strangers.sequences import ratings


class Factors(nn.Module):
    def __init__(self, users, items, mean, dim=4):
        super().__init__()
        self.users, self.items = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for e in (self.users, self.items):
            nn.init.normal_(e.weight, std=0.3)
        for e in (self.user_bias, self.item_bias):
            nn.init.zeros_(e.weight)
        self.mean = mean

    def forward(self, u, i):
        return (
            self.mean
            + self.user_bias(u).squeeze(1)
            + self.item_bias(i).squeeze(1)
            + (self.users(u) * self.items(i)).sum(1)
        )


def main(watch):
    u, i, stars = ratings()
    cut = 10000
    model = Factors(200, 150, stars[:cut].mean().item())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.5)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.93)
    monitor = watch(model, optimizer)
    epochs = 26
    for epoch in range(epochs):
        for table in (model.users, model.user_bias):
            table.requires_grad_(epoch % 2 == 0)
        for table in (model.items, model.item_bias):
            table.requires_grad_(epoch % 2 == 1)
        for rows in torch.randperm(cut).split(128):
            loss = nn.functional.mse_loss(model(u[rows], i[rows]), stars[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        schedule.step()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(u[cut:], i[cut:]), stars[cut:]).item()
        monitor.log(epoch=epoch, side=epoch % 2, val_mse=val)
    monitor.close()
    assert val < 0.6 * stars[cut:].var().item(), val
