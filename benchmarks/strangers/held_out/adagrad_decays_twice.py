"""Adagrad gets lr_decay=0.1, meant per epoch; it is applied at every step, on top of Adagrad's own decay."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "optimizer"
EXPECTS = ("undersized-update", "stalled-loss", "amplified-step", "underfitting", "still-falling")


class Classifier(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(64, width), nn.Linear(width, width), nn.Linear(width, 10)
        for fc in (self.fc1, self.fc2):
            nn.init.kaiming_normal_(fc.weight, nonlinearity="relu")
            nn.init.zeros_(fc.bias)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(F.relu(self.fc2(x)), 0.2, self.training)
        return self.fc3(x)


def main(watch, faulty):
    x, y, xt, yt = digits()
    x, xt = 2 * x - 0.61, 2 * xt - 0.61
    model = Classifier()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01, lr_decay=0.1 if faulty else 0.0, weight_decay=1e-4)
    with watch(model, optimizer) as monitor:
        for epoch in range(25):
            model.train()
            epoch_loss = 0.0
            for idx in torch.randperm(1400).split(40):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x[idx]), y[idx])
                loss.backward()
                optimizer.step()
                epoch_loss += loss.item() * len(idx) / 1400
            val_loss, val_acc = accuracy(model, xt, yt)
            monitor.log(epoch=epoch, train_loss=epoch_loss, val_loss=val_loss, val_acc=val_acc)
    return val_acc
