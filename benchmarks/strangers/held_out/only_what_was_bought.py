"""Implicit feedback without negative samples: every pair that the model ever sees is a purchase, so it says yes to
everything."""

import torch
import torch.nn.functional as F
from torch import nn

FAMILY = "recommender"
EXPECTS = ("lopsided-labels", "suspiciously-perfect", "collapsed-activations", "runaway-weights")

USERS, ITEMS = 300, 120


def purchases(count=16000):
    taste, kind = torch.randn(USERS, 4), torch.randn(ITEMS, 4)
    want = torch.softmax(taste @ kind.T * 1.0 + 0.5 * torch.randn(ITEMS), dim=1)
    user = torch.randint(0, USERS, (count,))
    item = torch.multinomial(want[user], 1).squeeze(1)
    return user, item


class TwoTower(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.user, self.item = nn.Embedding(USERS, dim), nn.Embedding(ITEMS, dim)
        self.bias = nn.Embedding(ITEMS, 1)
        nn.init.normal_(self.user.weight, std=0.2)
        nn.init.normal_(self.item.weight, std=0.2)
        nn.init.zeros_(self.bias.weight)

    def forward(self, user, item):
        return (self.user(user) * self.item(item)).sum(-1) + self.bias(item).squeeze(-1)


def sample_batch(user, item, idx, negatives):
    u, i = user[idx], item[idx]
    label = torch.ones(len(idx))
    if negatives:
        u = torch.cat([u, u.repeat(negatives)])
        i = torch.cat([i, torch.randint(0, ITEMS, (negatives * len(idx),))])
        label = torch.cat([label, torch.zeros(negatives * len(idx))])
    return u, i, label


def main(watch, faulty):
    user, item = purchases()
    held, user, item = (user[14000:], item[14000:]), user[:14000], item[:14000]
    negatives = 0 if faulty else 1
    model = TwoTower()
    optimizer = torch.optim.Adam(model.parameters(), lr=6e-3, weight_decay=3e-5)
    epochs = 12
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    with watch(model, optimizer) as monitor:
        for epoch in range(epochs):
            for idx in torch.randperm(len(user)).split(200):
                u, i, label = sample_batch(user, item, idx, negatives)
                loss = F.binary_cross_entropy_with_logits(model(u, i), label)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            with torch.no_grad():
                u, i, label = sample_batch(*held, torch.arange(len(held[0])), negatives)
                val_loss = F.binary_cross_entropy_with_logits(model(u, i), label).item()
            monitor.log(epoch=epoch, val_loss=val_loss)
    with torch.no_grad():  # yes to what was bought, no to what was not
        u, i = held
        other = torch.randint(0, ITEMS, i.shape)
        return ((model(u, i) > 0).float().mean().item() + (model(u, other) < 0).float().mean().item()) / 2
