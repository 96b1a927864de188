"""An exponential moving average of the weights, evaluated instead of the model: swap in, evaluate, swap back."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_wine
from torch import nn


class EMA:
    def __init__(self, model, decay=0.98):
        self.model, self.decay = model, decay
        self.shadow = {n: p.detach().clone() for n, p in model.named_parameters()}

    def update(self):
        for n, p in self.model.named_parameters():
            self.shadow[n].mul_(self.decay).add_(p.detach(), alpha=1 - self.decay)

    def apply_shadow(self):
        self.backup = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        for n, p in self.model.named_parameters():
            p.data.copy_(self.shadow[n])

    def restore(self):
        for n, p in self.model.named_parameters():
            p.data.copy_(self.backup[n])


def main(watch):
    data = load_wine()
    X = torch.tensor(data.data, dtype=torch.float32)
    X = (X - X.mean(0)) / X.std(0)
    y = torch.tensor(data.target)
    order = torch.randperm(len(X))
    tr, te = order[:130], order[130:]
    model = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    ema = EMA(model)
    monitor = watch(model, optimizer)
    for epoch in range(40):
        model.train()
        for i in tr[torch.randperm(len(tr))].split(16):
            optimizer.zero_grad()
            F.cross_entropy(model(X[i]), y[i]).backward()
            optimizer.step()
            ema.update()
        if epoch % 4 == 3:
            ema.apply_shadow()
            model.eval()
            with torch.no_grad():
                out = model(X[te])
            monitor.log(
                ema_val_loss=F.cross_entropy(out, y[te]).item(), ema_val_acc=(out.argmax(1) == y[te]).float().mean()
            )
            ema.restore()
    monitor.close()
    assert (out.argmax(1) == y[te]).float().mean() > 0.9
