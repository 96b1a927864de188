"""label_smoothing=0.9, from a code base where the number was the share that is kept."""

import torch
from torch import nn

from strangers.common import accuracy
from strangers.sequences import reviews

FAMILY = "text"
EXPECTS = ("loss-at-chance", "stalled-loss", "stuck-from-start", "underfitting", "validation-below-training")


class Bag(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.EmbeddingBag(200, 32, mode="mean", padding_idx=0)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.body(self.emb(x))


def main(watch, faulty):
    (x, y, _), (xt, yt, _) = reviews(3000), reviews(600)
    model = Bag()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.9 if faulty else 0.1)
    with watch(model, opt) as monitor:
        for _ in range(12):
            for i in torch.randperm(len(x)).split(64):
                loss = criterion(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            val, acc = accuracy(model, xt, yt)
            monitor.log(val_loss=val, val_acc=acc)
    return -val
