"""Deep Sets: how many different values are in a bag of ten; sum pooling, targets up to ten, no normalisation at all."""

import torch
import torch.nn.functional as F
from torch import nn


class DeepSet(nn.Module):
    def __init__(self, kinds=12, width=48):
        super().__init__()
        self.phi = nn.Sequential(
            nn.Embedding(kinds, width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)
        )
        self.rho = nn.Sequential(nn.Linear(width, 96), nn.ReLU(), nn.Linear(96, 1))

    def forward(self, bag):
        return self.rho(self.phi(bag).sum(1)).squeeze(1)


def bags(n, size=10, kinds=12):
    bag = torch.randint(0, kinds, (n, size)) * (torch.rand(n, size) < torch.rand(n, 1)).long()
    return bag, F.one_hot(bag, kinds).amax(1).sum(1).float()


def main(watch):
    x, y = bags(5000)
    xv, yv = bags(500)
    model = DeepSet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    epochs = 24
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, epochs=epochs, steps_per_epoch=79)
    with watch(model, optimizer) as monitor:
        for _epoch in range(epochs):
            total = 0.0
            for rows in torch.randperm(len(x)).split(64):
                loss = F.smooth_l1_loss(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                total += loss.item() * len(rows)
            with torch.no_grad():
                out = model(xv)
            exact = (out.round() == yv).float().mean().item()
            monitor.log(train_loss=total / len(x), val_loss=F.smooth_l1_loss(out, yv).item(), val_exact=exact)
    assert exact > 0.75, exact
