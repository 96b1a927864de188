"""Adam with the learning rate 0.1 that SGD had in the same script, on a conv net without normalisation."""

import torch
import torch.nn.functional as F
from torch import nn

from strangers.common import accuracy, digits

FAMILY = "conv net"
EXPECTS = (
    "oversized-update",
    "loss-at-chance",
    "stuck-from-start",
    "diverging-loss",
    "dead-units",
    "dead-layer",
    "loss-spike",
    "collapsed-activations",
    "runaway-weights",
)


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.fc1 = nn.Linear(24 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def train(model, x, y, optimizer, epoch):
    model.train()
    for batch, rows in enumerate(torch.randperm(len(x)).split(64)):
        optimizer.zero_grad()
        loss = F.nll_loss(F.log_softmax(model(x[rows]), dim=1), y[rows])
        loss.backward()
        optimizer.step()
        if batch % 10 == 0:
            print(f"Train Epoch: {epoch} [{batch * 64}/{len(x)}]\tLoss: {loss.item():.6f}")


def main(watch, faulty):
    x, y, xt, yt = digits(flat=False)
    model = LeNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1 if faulty else 0.002)
    with watch(model, optimizer) as monitor:
        for epoch in range(1, 15):
            train(model, x, y, optimizer, epoch)
            loss, acc = accuracy(model, xt[:150], yt[:150])
            monitor.log(test_loss=loss, test_acc=acc)
    return accuracy(model, xt[150:], yt[150:])[1]
