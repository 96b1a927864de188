"""Everything but the head shall be frozen, and is chosen by its name; the head of this model is called otherwise than
that of the last one, so that the new head is frozen as it was drawn, and the old norm in front of it trains."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "fine-tuning"
EXPECTS = ("frozen-untrained", "underfitting", "stalled-loss", "silent-parameter", "uncovered-parameter")


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.layer1 = nn.Sequential(nn.Linear(128, 128), nn.ReLU())
        self.fc_norm = nn.LayerNorm(128)
        self.classifier = nn.Linear(128, classes)

    def forward(self, x):
        return self.classifier(self.fc_norm(self.layer1(self.stem(x))))


def pretrained(x, y):
    model = Net(5)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(300):
        idx = torch.randint(0, len(x), (64,))
        optimizer.zero_grad()
        F.cross_entropy(model(x[idx]), y[idx]).backward()
        optimizer.step()
    return model


def main(watch, faulty):
    x, y, xt, yt = digits()
    model = pretrained(x[y < 5], y[y < 5])
    model.classifier = nn.Linear(128, 5)
    head = "fc" if faulty else "classifier"
    for name, parameter in model.named_parameters():
        parameter.requires_grad = name.startswith(head)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    x, y, xt, yt = x[y >= 5], y[y >= 5] - 5, xt[yt >= 5], yt[yt >= 5] - 5
    with watch(model, optimizer) as monitor:
        for epoch in range(15):
            for rows in torch.randperm(len(x)).split(32):
                optimizer.zero_grad()
                loss = F.cross_entropy(model(x[rows]), y[rows])
                loss.backward()
                optimizer.step()
            loss, acc = accuracy(model, xt[:80], yt[:80])
            monitor.log(epoch=epoch, eval_loss=loss, eval_accuracy=acc)
    return accuracy(model, xt[80:], yt[80:])[1]
