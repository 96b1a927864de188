"""A rating model on user and item names: the index of names is built once for the training table and once more, in
another order, for the validation table."""

import random

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "recommender"
EXPECTS = ("gap-from-start", "nothing-generalises", "overfitting")


def ratings(n):
    rng = random.Random(5)
    users = {f"user_{i}": [rng.gauss(0, 1) for _ in range(3)] for i in range(80)}
    items = {f"item_{i}": [rng.gauss(0, 1) for _ in range(3)] + [rng.gauss(0, 0.7)] for i in range(60)}
    rows = []
    for _ in range(n):
        u, i = rng.choice(list(users)), rng.choice(list(items))
        score = sum(a * b for a, b in zip(users[u], items[i], strict=False)) + items[i][3] + rng.gauss(0, 0.2)
        rows.append((u, i, score))
    return rows


def index(names):
    known = {}
    for name in names:
        known.setdefault(name, len(known))
    return known


class Ratings(Dataset):
    def __init__(self, rows, users=None, items=None):
        self.users = users or index(row[0] for row in rows)
        self.items = items or index(row[1] for row in rows)
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        user, item, score = self.rows[i]
        return self.users[user], self.items[item], torch.tensor(score)


class Factors(nn.Module):
    def __init__(self, users, items, dim=8):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for table in (self.user, self.item):
            nn.init.normal_(table.weight, std=0.2)

    def forward(self, u, i):
        return (self.user(u) * self.item(i)).sum(1) + self.user_bias(u).squeeze(1) + self.item_bias(i).squeeze(1)


def main(watch, faulty):
    rows = ratings(4200)
    train = Ratings(rows[:3500])
    val = Ratings(rows[3500:]) if faulty else Ratings(rows[3500:], train.users, train.items)
    loader, val_loader = DataLoader(train, batch_size=64, shuffle=True), DataLoader(val, batch_size=700)
    model = Factors(80, 60)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, weight_decay=1e-5)
    with watch(model, optimizer) as monitor:
        for epoch in range(12):
            for u, i, score in loader:
                loss = F.mse_loss(model(u, i), score)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            with torch.no_grad():
                for u, i, score in val_loader:
                    val_loss = F.mse_loss(model(u, i), score).item()
            monitor.log(val_loss=val_loss, epoch=epoch)
    return -val_loss
