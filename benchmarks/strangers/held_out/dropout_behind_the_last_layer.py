"""A regression network ends with dropout: predictions are zeroed at random in training, so it learns to answer
with a fraction of the truth."""

import itertools

import torch
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FAMILY = "regularisation"
EXPECTS = ("heavy-dropout", "underfitting", "validation-below-training", "stalled-loss", "noisy-loss")


class MLP(nn.Module):
    def __init__(self, sizes, p, dropout_last=False):
        super().__init__()
        layers = []
        for i, (a, b) in enumerate(itertools.pairwise(sizes)):
            layers.append(nn.Linear(a, b))
            last = i == len(sizes) - 2
            if not last:
                layers += [nn.LayerNorm(b), nn.ReLU()]
            if dropout_last and last:
                layers.append(nn.Dropout(p))
        self.net = nn.Sequential(*layers)

    def forward(self, x):
        return self.net(x)


def main(watch, faulty):
    x, y = make_friedman1(6000, 8, noise=1.0)
    x = torch.tensor((x - 0.5) / 0.289, dtype=torch.float32)
    y = torch.tensor((y - y.mean()) / y.std(), dtype=torch.float32)[:, None]
    loader = DataLoader(TensorDataset(x[:5000], y[:5000]), batch_size=64, shuffle=True)
    xv, yv = x[5000:], y[5000:]
    model = MLP([8, 96, 96, 1], p=0.5, dropout_last=faulty)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 12)
    mse = nn.MSELoss()
    with watch(model, opt) as monitor:
        for epoch in range(12):
            model.train()
            running = 0.0
            for xb, yb in loader:
                opt.zero_grad()
                loss = mse(model(xb), yb)
                loss.backward()
                opt.step()
                running += loss.item()
            sched.step()
            model.eval()
            with torch.no_grad():
                val = mse(model(xv), yv).item()
            monitor.log(epoch=epoch, train_loss=running / len(loader), val_loss=val)
    return 1 - val / yv.var().item()
