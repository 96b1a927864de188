"""torch.LongTensor is used for the targets of a regression as in the classification script it was copied from:
everything behind the decimal point is gone."""

import numpy as np
import torch
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, Dataset

FAMILY = "labels"
EXPECTS = ("stalled-loss", "underfitting", "lopsided-labels", "unreachable-target", "noisy-loss")


class TableDataset(Dataset):
    def __init__(self, x, y, label_type):
        self.X = torch.FloatTensor(x)
        self.y = torch.from_numpy(y).to(label_type)

    def __len__(self):
        return len(self.X)

    def __getitem__(self, i):
        return self.X[i], self.y[i]


def main(watch, faulty):
    X, y = make_friedman1(5000, 8, noise=0.8)
    X, y = (X - X.mean(0)) / X.std(0), (y - y.mean()) / y.std()
    y = 0.6 * y  # logarithms of doses
    kind = torch.long if faulty else torch.float32
    train, val = TableDataset(X[:4200], y[:4200], kind), TableDataset(X[4200:], y[4200:], kind)
    model = nn.Sequential(nn.Linear(8, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU(), nn.Linear(64, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
    criterion = nn.MSELoss()
    with watch(model, optimizer) as monitor:
        for epoch in range(14):
            model.train()
            for xb, yb in DataLoader(train, batch_size=64, shuffle=True):
                optimizer.zero_grad()
                loss = criterion(model(xb).squeeze(-1), yb.float())
                loss.backward()
                optimizer.step()
            scheduler.step()
            model.eval()
            with torch.no_grad():
                val_loss = np.mean([criterion(model(a).squeeze(-1), b.float()).item() for a, b in DataLoader(val, 400)])
            monitor.log(epoch=epoch, val_loss=float(val_loss))
    with torch.no_grad():
        error = criterion(model(val.X).squeeze(-1), torch.FloatTensor(y[4200:])).item()
    return 1 - error / y[4200:].var()
