"""A typing mistake in forward(): the item table is looked up with the number of the user, and the item is never
seen."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from strangers.sequences import ratings

FAMILY = "recommender"
EXPECTS = ("underfitting", "stalled-loss", "loss-at-chance", "nothing-generalises")


class NeuralCF(nn.Module):
    def __init__(self, num_users, num_items, d=12, swapped=False):
        super().__init__()
        size = max(num_users, num_items)
        self.user_emb = nn.Embedding(size, d)
        self.item_emb = nn.Embedding(size, d)
        nn.init.normal_(self.user_emb.weight, std=0.3)
        nn.init.normal_(self.item_emb.weight, std=0.3)
        self.mlp = nn.Sequential(nn.Linear(3 * d, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1))
        self.swapped = swapped

    def forward(self, user, item):
        u = self.user_emb(user)
        v = self.item_emb(user if self.swapped else item)
        return self.mlp(torch.cat([u, v, u * v], dim=-1)).squeeze(-1)


def main(watch, faulty):
    users, items, stars = ratings(count=22000)
    stars = (stars - 3.3) / 1.2
    train = TensorDataset(users[:20000], items[:20000], stars[:20000])
    model = NeuralCF(200, 150, swapped=faulty)
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-3, weight_decay=0.05)
    epochs = 8
    sched = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.05, total_iters=epochs)
    loader = DataLoader(train, batch_size=200, shuffle=True)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            model.train()
            for u, i, r in loader:
                optimizer.zero_grad()
                loss = F.mse_loss(model(u, i), r)
                loss.backward()
                optimizer.step()
            sched.step()
            model.eval()
            with torch.no_grad():
                pred = model(users[20000:], items[20000:])
                val = F.mse_loss(pred, stars[20000:]).item()
            monitor.log(epoch=epoch, val_loss=val)
    return -val
