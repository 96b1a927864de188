"""Tabular data with categorical embeddings and BatchNorm on the continuous columns, early stopping with patience."""

import copy

import torch
from torch import nn


class TabularNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(12, 6), nn.Embedding(7, 4)])
        self.bn_cont = nn.BatchNorm1d(5)
        self.layers = nn.Sequential(nn.Linear(15, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Dropout(0.1), nn.Linear(64, 1))

    def forward(self, cat, cont):
        x = torch.cat([e(cat[:, i]) for i, e in enumerate(self.embeds)] + [self.bn_cont(cont)], 1)
        return self.layers(x).squeeze(1)


def main(watch):
    n = 3000
    cat = torch.stack([torch.randint(0, 12, (n,)), torch.randint(0, 7, (n,))], 1)
    cont = torch.randn(n, 5) * torch.tensor([1.0, 30.0, 5.0, 0.2, 1.0]) + torch.tensor([0.0, 100.0, 2.0, 0.0, -3.0])
    price = 3 * torch.sin(cat[:, 0].float()) + cat[:, 1] * 0.5 + cont[:, 1] / 30 - cont[:, 2] / 5 + 0.3 * torch.randn(n)
    mean, std = price.mean(), price.std()
    y = (price - mean) / std
    model, loss_fn = TabularNet(), nn.MSELoss()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    monitor = watch(model, opt)
    best, patience, best_state = float("inf"), 0, None
    for _epoch in range(25):
        model.train()
        for i in torch.randperm(2400).split(64):
            opt.zero_grad()
            loss = loss_fn(model(cat[i], cont[i]), y[i])
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            val_loss = loss_fn(model(cat[2400:], cont[2400:]), y[2400:]).item()
        monitor.log(val_loss=val_loss, val_r2=1 - val_loss / y[2400:].var().item())
        if val_loss < best:
            best, patience, best_state = val_loss, 0, copy.deepcopy(model.state_dict())
        else:
            patience += 1
            if patience == 6:
                break
    model.load_state_dict(best_state)
    monitor.close()
    assert best < 0.2
