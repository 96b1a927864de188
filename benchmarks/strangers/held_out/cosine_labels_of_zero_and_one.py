"""CosineEmbeddingLoss wants +1 and -1; with labels 1 and 0 the pairs that differ cost nothing, and everything may
fall on one point."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from strangers.common import digits

FAMILY = "metric learning"
EXPECTS = (
    "collapsed-activations",
    "mismatched-loss",
    "suspiciously-perfect",
    "loss-without-accuracy",
    "metric-loss-disagreement",
)


class Pairs(Dataset):
    def __init__(self, x, y, different):
        self.x, self.y, self.different = x, y, different
        self.of = [torch.nonzero(y == c).squeeze(1) for c in range(10)]

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        same = torch.rand(()) < 0.5
        c = int(self.y[i]) if same else (int(self.y[i]) + int(torch.randint(1, 10, ()))) % 10
        j = self.of[c][torch.randint(0, len(self.of[c]), ())]
        return self.x[i], self.x[j], 1.0 if same else self.different


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 24))

    def forward(self, a, b):
        return self.embed(a), self.embed(b)


@torch.no_grad()
def nearest(model, x, y, xt, yt):
    model.eval()
    a, b = F.normalize(model.embed(x), dim=1), F.normalize(model.embed(xt), dim=1)
    return (y[(b @ a.T).topk(5, 1).indices].mode(1).values == yt).float().mean().item()


def main(watch, faulty):
    x, y, xt, yt = digits()
    mu, sd = x.mean(), x.std()
    x, xt = (x - mu) / sd, (xt - mu) / sd
    different = 0.0 if faulty else -1.0
    train, val = Pairs(x, y, different), Pairs(xt, yt, different)
    model = Siamese()
    criterion = nn.CosineEmbeddingLoss(margin=0.2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 6, 0.3)
    loader = DataLoader(train, batch_size=32, shuffle=True)
    with watch(model, optimizer) as monitor:
        for epoch in range(16):
            model.train()
            for a, b, label in loader:
                za, zb = model(a, b)
                loss = criterion(za, zb, label.float())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            scheduler.step()
            acc = nearest(model, x, y, xt, yt)
            with torch.no_grad():
                a, b, label = next(iter(DataLoader(val, len(val))))
                val_loss = criterion(*model(a, b), label.float()).item()
            monitor.log(epoch=epoch, val_loss=val_loss, knn_acc=acc)
    return acc
